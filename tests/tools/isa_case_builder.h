// Builds the records of a case set by hand, so that the reader is tested against bytes and not
// against a writer of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace doppel::vectors {

/// A record's parts; fields keep the order of the header's dwords.
struct RecordParts {
  uint32_t id = 7, arch = 3, flags = 0;
  uint32_t lanes = 2;
  uint32_t layout = 0, wave_size = 32, float_type = 0, ulp = 0;
  uint32_t body_offset = 0, body_size = 4;
  std::string name = "a.case";
  std::vector<uint32_t> code = {0xbfb00000};  // s_endpgm
  std::vector<uint32_t> expected{}, mask{}, input{};
};

inline std::vector<std::byte> build_record(const RecordParts& parts) {
  std::vector<uint32_t> dwords = {0x43455649, parts.id, parts.arch, parts.flags, parts.lanes,
                                  1,          1,        1,          1,           1,
                                  0x00ac003f, 0x84,     0,          65536,       65536};
  const auto bytes = [](const auto& part) { return static_cast<uint32_t>(4 * part.size()); };
  const auto name_size = static_cast<uint32_t>(parts.name.size());
  for (uint32_t value :
       {name_size, bytes(parts.code), bytes(parts.expected), parts.body_offset, parts.body_size,
        parts.layout, parts.wave_size, bytes(parts.input), parts.float_type, parts.ulp}) {
    dwords.push_back(value);
  }
  const size_t name_begin = dwords.size();
  dwords.resize(name_begin + (name_size + 3) / 4);
  std::memcpy(&dwords[name_begin], parts.name.data(), name_size);
  for (const auto* part : {&parts.code, &parts.expected, &parts.mask, &parts.input}) {
    dwords.insert(dwords.end(), part->begin(), part->end());
  }
  std::vector<std::byte> record(4 * dwords.size());
  std::memcpy(record.data(), dwords.data(), record.size());
  return record;
}

}  // namespace doppel::vectors
