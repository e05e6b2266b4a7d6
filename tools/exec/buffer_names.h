// BufferNames: GPU addresses as "arg0+0x40", and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace doppel::exec {

class BufferNames {
 public:
  void add(std::string name, uint64_t va, uint64_t size) {
    buffers_.push_back({std::move(name), va, size});
  }

  /// "arg0+0x40", or the bare address.
  std::string name_of(uint64_t va) const;
  /// An address in either spelling. NotFound for a buffer that there is not, OutOfRange beyond its
  /// end.
  Result<uint64_t> parse(std::string_view text) const;

 private:
  struct Buffer {
    std::string name;
    uint64_t va = 0;
    uint64_t size = 0;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace doppel::exec
