#include "tools/exec/buffer_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/exec/arg_spec.h"

namespace doppel::exec {

std::string BufferNames::name_of(uint64_t va) const {
  for (const Buffer& buffer : buffers_) {
    if (va < buffer.va || va - buffer.va >= buffer.size) continue;
    if (va == buffer.va) return buffer.name;
    return fmt::format("{}+{:#x}", buffer.name, va - buffer.va);
  }
  return fmt::format("{:#x}", va);
}

Result<uint64_t> BufferNames::parse(std::string_view text) const {
  const size_t plus = text.find('+');
  const auto buffer = std::ranges::find(buffers_, text.substr(0, plus), &Buffer::name);
  if (buffer == buffers_.end()) {
    if (text.starts_with("0x")) return parse_integer(text);
    return error(StatusCode::NotFound, fmt::format("No argument has this name ({}).", text));
  }
  if (plus == std::string_view::npos) return buffer->va;
  DOPPEL_ASSIGN(const uint64_t offset, parse_integer(text.substr(plus + 1)));
  if (offset >= buffer->size) {
    return error(StatusCode::OutOfRange, fmt::format("The address ({}) is beyond the argument's "
                                                     "end ({} bytes).",
                                                     text, buffer->size));
  }
  return buffer->va + offset;
}

}  // namespace doppel::exec
