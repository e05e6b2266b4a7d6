// Reads the facts and captured streams that lie beside the repository, where they exist.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/packets/row.h"
#include "tests/paths.h"

namespace doppel::test {

inline std::filesystem::path shared_path(std::string_view relative) {
  return shared_dir() / relative;
}

inline nlohmann::json load_json(std::string_view relative) {
  std::ifstream file(shared_path(relative));
  return nlohmann::json::parse(file);
}

/// The facts about one family's packets.
struct FactFile {
  const char* file;
  GfxFamily family;
};

/// One packet of a captured stream.
struct CapturedPacket {
  packets::Language language;
  std::string place;  // "file:line"
  std::vector<uint32_t> dwords;
};

/// The packet lines ("pm4 q0 ring c0053c00 ...", "sdma q1 ring ...") of a tinygrad capture.
inline std::vector<CapturedPacket> load_capture(std::string_view relative) {
  std::vector<CapturedPacket> captured;
  std::ifstream file(shared_path(relative));
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string language, queue, where, dword;
    words >> language >> queue >> where;
    if (language != "pm4" && language != "sdma") continue;
    CapturedPacket packet;
    packet.language = language == "pm4" ? packets::Language::Pm4 : packets::Language::Sdma;
    packet.place = std::string(relative) + ":" + std::to_string(number);
    while (words >> dword) {
      packet.dwords.push_back(static_cast<uint32_t>(std::stoul(dword, nullptr, 16)));
    }
    captured.push_back(std::move(packet));
  }
  return captured;
}

}  // namespace doppel::test

#define DOPPEL_SKIP_WITHOUT(relative)                                        \
  if (!std::filesystem::exists(::doppel::test::shared_path(relative))) {     \
    GTEST_SKIP() << "The facts are not beside the repository: " << relative; \
  }
