// ArgSpec: one kernel argument as the command line writes it.
//
//   buf:BYTES[:fill=V][:ramp=TYPE][:out=FILE][:print=TYPE[xN]]   a buffer; V repeats as a dword
//   file:PATH[:bytes=N][:out=FILE][:print=TYPE[xN]]              a buffer with a file's content
//   i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 ":VALUE"           a value
//   local:BYTES                                                  LDS of the kernel's own
//
// BYTES takes KiB, MiB; V is a number, 0x... or with an f behind it a float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/status.h"

namespace doppel::exec {

enum class ElementType : uint8_t { I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, X32 };

struct BufferSpec {
  std::vector<std::byte> content;  // whole
  std::string out;                 // where it is written afterwards, if anywhere
  bool print = false;
  ElementType print_type = ElementType::X32;
  size_t print_count = 16;
};

struct ValueSpec {
  ElementType type = ElementType::I32;
  std::vector<std::byte> bytes;
};

struct LocalSpec {
  uint32_t bytes = 0;
};

using ArgSpec = std::variant<BufferSpec, ValueSpec, LocalSpec>;

/// InvalidArgument naming the part that makes no sense; NotFound for a file that can't be read.
Result<ArgSpec> parse_arg(std::string_view text);

/// "0x1000", "4096": InvalidArgument otherwise.
Result<uint64_t> parse_integer(std::string_view text);

size_t bytes_of(ElementType type);
/// Elements as numbers, with commas between them.
std::string print_elements(std::span<const std::byte> bytes, ElementType type, size_t count);

}  // namespace doppel::exec
