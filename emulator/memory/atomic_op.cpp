#include "emulator/memory/atomic_op.h"

#include <algorithm>
#include <utility>

namespace doppel::emu {
namespace {

using packets::AtomicOp;

// TC_OP numbers are a 5-bit operation, a size bit and a bit that drops the returned value.
constexpr uint32_t kOperationMask = 0x1f, k64Bit = 0x20, kNoReturn = 0x40;

enum class Operation : uint32_t {
  Swap = 0x07,
  CompareSwap = 0x08,
  Add = 0x0f,
  Sub = 0x10,
  SignedMin = 0x11,
  UnsignedMin = 0x12,
  SignedMax = 0x13,
  UnsignedMax = 0x14,
  And = 0x15,
  Or = 0x16,
  Xor = 0x17,
  Inc = 0x18,
  Dec = 0x19,
};

constexpr Operation operation(AtomicOp op) {
  return static_cast<Operation>(std::to_underlying(op) & kOperationMask);
}

static_assert(operation(AtomicOp::TC_OP_ATOMIC_DEC_64) == Operation::Dec);
static_assert(operation(AtomicOp::TC_OP_ATOMIC_ADD_RTN_64) == Operation::Add);
static_assert(std::to_underlying(AtomicOp::TC_OP_ATOMIC_SWAP_64) ==
              (std::to_underlying(AtomicOp::TC_OP_ATOMIC_SWAP_RTN_32) | k64Bit | kNoReturn));

template <class Word>
Word result(Operation operation, Word old, Word source, Word compare) {
  using Signed = std::make_signed_t<Word>;
  const auto signed_old = static_cast<Signed>(old), signed_source = static_cast<Signed>(source);
  switch (operation) {
    case Operation::Swap:
      return source;
    case Operation::CompareSwap:
      return old == compare ? source : old;
    case Operation::Add:
      return old + source;
    case Operation::Sub:
      return old - source;
    case Operation::SignedMin:
      return static_cast<Word>(std::min(signed_old, signed_source));
    case Operation::UnsignedMin:
      return std::min(old, source);
    case Operation::SignedMax:
      return static_cast<Word>(std::max(signed_old, signed_source));
    case Operation::UnsignedMax:
      return std::max(old, source);
    case Operation::And:
      return old & source;
    case Operation::Or:
      return old | source;
    case Operation::Xor:
      return old ^ source;
    case Operation::Inc:
      return old >= source ? 0 : old + 1;
    case Operation::Dec:
      return old == 0 || old > source ? source : old - 1;
  }
  return old;
}

template <class Word>
std::expected<uint64_t, MemoryFault> apply(MemoryPort& port, AtomicOp op, uint64_t va, Word source,
                                           Word compare) {
  auto old = port.exchange<Word>(
      va, [&](Word value) { return result<Word>(operation(op), value, source, compare); });
  if (!old) return std::unexpected(std::move(old).error());
  return *old;
}

}  // namespace

bool is_atomic(AtomicOp op) {
  const uint32_t number = std::to_underlying(op);
  if (number > 0x7f) return false;
  switch (operation(op)) {
    case Operation::Swap:
    case Operation::CompareSwap:
    case Operation::Add:
    case Operation::Sub:
    case Operation::SignedMin:
    case Operation::UnsignedMin:
    case Operation::SignedMax:
    case Operation::UnsignedMax:
    case Operation::And:
    case Operation::Or:
    case Operation::Xor:
    case Operation::Inc:
    case Operation::Dec:
      return true;
  }
  return false;
}

bool is_atomic_64(AtomicOp op) {
  return std::to_underlying(op) & k64Bit;
}

bool is_compare_swap(AtomicOp op) {
  return operation(op) == Operation::CompareSwap;
}

uint64_t atomic_result(AtomicOp op, uint64_t old, uint64_t source, uint64_t compare) {
  if (is_atomic_64(op)) return result<uint64_t>(operation(op), old, source, compare);
  return result<uint32_t>(operation(op), static_cast<uint32_t>(old), static_cast<uint32_t>(source),
                          static_cast<uint32_t>(compare));
}

std::expected<uint64_t, MemoryFault> apply_atomic(MemoryPort& port, AtomicOp op, uint64_t va,
                                                  uint64_t source, uint64_t compare) {
  if (is_atomic_64(op)) return apply<uint64_t>(port, op, va, source, compare);
  return apply<uint32_t>(port, op, va, static_cast<uint32_t>(source),
                         static_cast<uint32_t>(compare));
}

}  // namespace doppel::emu
