// MUBUF and MTBUF: lanes that reach memory through a buffer resource. Out of range, loads give 0
// and stores vanish. Linear accesses that are wholly in range go as a window; swizzled or partly
// refused ones go dword by dword, each checked by itself; typed elements are checked as a whole.
#pragma once

#include "emulator/isa/buffer_format.h"
#include "emulator/isa/buffer_resource.h"
#include "emulator/isa/semantics/memory_atomics.h"

DOPPEL_BEGIN_LEVEL

/// The lanes of a buffer access: resource, and index and offset of each.
class BufferLanes {
 public:
  BufferLanes(const Wave& wave, const Inst& inst)
      : resource_(BufferResource::parse(wave.target->family,
                                        std::span<const uint32_t, 4>(&wave.s[inst.saddr], 4))) {
    std::memcpy(&scalar_offset_, wave.source(inst, 0), sizeof scalar_offset_);
    const bool has_index = (inst.flags & kIdxen) != 0;
    const bool has_offset = (inst.flags & kOffen) != 0;
    const uint32_t* index = wave.vgpr(inst.address);
    const uint32_t* offset = wave.vgpr(inst.address + (has_index ? 1 : 0));
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t tid = resource_.add_tid ? wave.half * kLanes + l : 0;
      index_[l] = (has_index ? index[l] : 0) + tid;
      offset_[l] = (has_offset ? offset[l] : 0) + uint64_t{inst.literal};
    }
  }

  const BufferResource& resource() const { return resource_; }
  bool out_of_range(uint32_t lane, uint32_t delta, uint32_t bytes) const {
    return resource_.out_of_range(index_[lane], offset_[lane] + delta, scalar_offset_, bytes);
  }
  /// The address of byte `delta` of the lane's element.
  uint64_t address(uint32_t lane, uint32_t delta = 0) const {
    return resource_.address(index_[lane], offset_[lane] + delta, scalar_offset_);
  }

  /// True if no lane in `exec` is refused any byte, elements lie in one piece, and all addresses
  /// within 4 GiB of the base: then `low` holds them, counted from the base.
  bool linear(uint32_t exec, uint32_t bytes, uint32_t* low) const {
    if (resource_.swizzled()) return false;
    return for_each_lane(exec, [&](uint32_t lane) {
      const uint64_t distance = address(lane) - resource_.base;
      low[lane] = static_cast<uint32_t>(distance);
      return distance + bytes <= UINT32_MAX && !out_of_range(lane, bytes - 1, 1) &&
             !out_of_range(lane, 0, bytes);
    });
  }

 private:
  BufferResource resource_;
  uint32_t scalar_offset_ = 0;
  uint32_t index_[kLanes];
  uint64_t offset_[kLanes];
};

/// Bytes that are checked and addressed together.
template <OperandType T>
constexpr uint32_t buffer_piece() {
  return element_bytes<T>() < 4 ? element_bytes<T>() : 4;
}

struct Buffer {
  template <OperandType T>
  static bool load(Wave& wave, const Inst* inst, uint32_t exec, uint32_t* out) {
    const BufferLanes lanes(wave, *inst);
    alignas(64) uint32_t low[kLanes];
    if (lanes.linear(exec, element_bytes<T>(), low)) {
      return load_from<T>(wave, inst, {lanes.resource().base, low, nullptr}, exec, out);
    }
    constexpr uint32_t kPiece = buffer_piece<T>();
    return for_each_lane(exec, [&](uint32_t lane) {
      std::byte element[element_bytes<T>()] = {};
      for (uint32_t at = 0; at < element_bytes<T>(); at += kPiece) {
        if (lanes.out_of_range(lane, at, kPiece)) continue;
        if (!read_memory(wave, inst, wave_lane(wave, lane), lanes.address(lane, at),
                         {element + at, kPiece})) {
          return false;
        }
      }
      for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
        out[d * kLanes + lane] = load_dword<T>(element, d);
      }
      return true;
    });
  }

  template <OperandType T>
  static bool store(Wave& wave, const Inst* inst, uint32_t exec, const uint32_t* data) {
    const BufferLanes lanes(wave, *inst);
    alignas(64) uint32_t low[kLanes];
    if (lanes.linear(exec, element_bytes<T>(), low)) {
      return store_to<T>(wave, inst, {lanes.resource().base, low, nullptr}, exec, data);
    }
    constexpr uint32_t kPiece = buffer_piece<T>();
    return for_each_lane(exec, [&](uint32_t lane) {
      std::byte element[element_dwords<T>() * 4];
      for (uint32_t d = 0; d < element_dwords<T>(); ++d) {
        store_dword<T>(element, d, data[d * kLanes + lane]);
      }
      for (uint32_t at = 0; at < element_bytes<T>(); at += kPiece) {
        if (lanes.out_of_range(lane, at, kPiece)) continue;
        if (!write_memory(wave, inst, wave_lane(wave, lane), lanes.address(lane, at),
                          {element + at, kPiece})) {
          return false;
        }
      }
      return true;
    });
  }
};

/// Atomics through a buffer resource.
class BufferAtomics {
 public:
  BufferAtomics(Wave& wave, const Inst* inst) : wave_(wave), inst_(inst), lanes_(wave, *inst) {}

  bool resolve(uint32_t lane, uint32_t bytes, AtomicPlace& place) {
    if (lanes_.out_of_range(lane, 0, bytes)) return true;
    return resolve_atomic(wave_, inst_, lane, lanes_.address(lane), bytes, place);
  }

 private:
  Wave& wave_;
  const Inst* inst_;
  BufferLanes lanes_;
};

inline BufferAtomics atomics_of(Buffer, Wave& wave, const Inst* inst, uint32_t) {
  return {wave, inst};
}

DOPPEL_END_LEVEL
