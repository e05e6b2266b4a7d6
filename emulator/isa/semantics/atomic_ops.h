// The read-modify-write operations of atomics, as functions of the value in memory and the
// instruction's data. On the GPU's memory they are atomics of the host too, since workgroups may
// run on several threads; in LDS a plain update does.
#pragma once

#include <atomic>
#include <bit>
#include <type_traits>

#include "emulator/isa/semantics/memory_element.h"

DOPPEL_BEGIN_LEVEL

template <OperandType T>
struct AtomicValue {
  using type = std::conditional_t<element_bytes<T>() == 8, uint64_t, uint32_t>;
};
template <>
struct AtomicValue<I32> {
  using type = int32_t;
};
template <>
struct AtomicValue<I64> {
  using type = int64_t;
};
template <>
struct AtomicValue<F32> {
  using type = float;
};
template <>
struct AtomicValue<F64> {
  using type = double;
};
template <OperandType T>
using atomic_value = typename AtomicValue<T>::type;

// Each operation: apply(memory, data) gives the new value; those with a host instruction of their
// own also have fetch().
struct Swap {
  template <class V>
  static V apply(V, V data) {
    return data;
  }
  template <class V>
  static V fetch(std::atomic_ref<V> memory, V data) {
    return memory.exchange(data);
  }
};
struct Add {
  template <class V>
  static V apply(V memory, V data) {
    return memory + data;
  }
  template <class V>
  requires std::is_integral_v<V>
  static V fetch(std::atomic_ref<V> memory, V data) { return memory.fetch_add(data); }
};
struct Sub {
  template <class V>
  static V apply(V memory, V data) {
    return memory - data;
  }
  template <class V>
  requires std::is_integral_v<V>
  static V fetch(std::atomic_ref<V> memory, V data) { return memory.fetch_sub(data); }
};
struct And {
  template <class V>
  static V apply(V memory, V data) {
    return memory & data;
  }
  template <class V>
  static V fetch(std::atomic_ref<V> memory, V data) {
    return memory.fetch_and(data);
  }
};
struct Or {
  template <class V>
  static V apply(V memory, V data) {
    return memory | data;
  }
  template <class V>
  static V fetch(std::atomic_ref<V> memory, V data) {
    return memory.fetch_or(data);
  }
};
struct Xor {
  template <class V>
  static V apply(V memory, V data) {
    return memory ^ data;
  }
  template <class V>
  static V fetch(std::atomic_ref<V> memory, V data) {
    return memory.fetch_xor(data);
  }
};
struct ReverseSub {
  template <class V>
  static V apply(V memory, V data) {
    return data - memory;
  }
};
/// Subtracts, but not below 0.
struct ClampedSub {
  template <class V>
  static V apply(V memory, V data) {
    return memory < data ? V{0} : memory - data;
  }
};
// For floats too: a NaN in memory stays, a NaN as data changes nothing, and zeros are equal (RDNA3
// ISA manual, DS_MIN_F32).
struct Min {
  template <class V>
  static V apply(V memory, V data) {
    return data < memory ? data : memory;
  }
};
struct Max {
  template <class V>
  static V apply(V memory, V data) {
    return data > memory ? data : memory;
  }
};
/// Counts up to data, then starts at 0 again.
struct Inc {
  template <class V>
  static V apply(V memory, V data) {
    return memory >= data ? V{0} : memory + 1;
  }
};
/// Counts down from data to 0.
struct Dec {
  template <class V>
  static V apply(V memory, V data) {
    return memory == 0 || memory > data ? data : memory - 1;
  }
};

template <class Op, class V>
concept HasFetch = requires(std::atomic_ref<V> memory, V data) {
  Op::fetch(memory, data);
};

/// Updates *host for all threads; returns what was there. `host` is naturally aligned.
template <class Op, class V>
V update_shared(std::byte* host, V data) {
  std::atomic_ref<V> memory(*reinterpret_cast<V*>(host));
  if constexpr (HasFetch<Op, V>) {
    return Op::fetch(memory, data);
  } else {
    V old = memory.load();
    while (!memory.compare_exchange_weak(old, Op::apply(old, data))) {
    }
    return old;
  }
}

/// Updates LDS.
template <class Op, class V>
V update_lds(std::byte* host, V data) {
  V old;
  std::memcpy(&old, host, sizeof old);
  const V updated = Op::apply(old, data);
  std::memcpy(host, &updated, sizeof updated);
  return old;
}

/// Compare and swap; `V` may be a float: its comparison is then the float one.
template <class V>
V compare_swap_shared(std::byte* host, V source, V compare) {
  std::atomic_ref<V> memory(*reinterpret_cast<V*>(host));
  V old = memory.load();
  while (old == compare && !memory.compare_exchange_weak(old, source)) {
  }
  return old;
}
template <class V>
V compare_swap_lds(std::byte* host, V source, V compare) {
  V old;
  std::memcpy(&old, host, sizeof old);
  if (old == compare) std::memcpy(host, &source, sizeof source);
  return old;
}

/// A lane's value in (a pair of) registers.
template <class V>
V lane_datum(const uint32_t* registers, uint32_t lane) {
  if constexpr (sizeof(V) == 8) {
    return std::bit_cast<V>(registers[lane] | uint64_t{registers[lane + 32]} << 32);
  } else {
    return std::bit_cast<V>(registers[lane]);
  }
}
template <class V>
void set_lane_datum(uint32_t* registers, uint32_t lane, V value) {
  if constexpr (sizeof(V) == 8) {
    const auto bits = std::bit_cast<uint64_t>(value);
    registers[lane] = static_cast<uint32_t>(bits);
    registers[lane + 32] = static_cast<uint32_t>(bits >> 32);
  } else {
    registers[lane] = std::bit_cast<uint32_t>(value);
  }
}

DOPPEL_END_LEVEL
