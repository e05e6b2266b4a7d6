// Packets of other people's programs, captured by `doppel run --trace` (see docs/clients.md): what
// they send is accepted by hardware, so every packet decodes, to the name and fields it had.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/packets/dump.h"
#include "tests/paths.h"

namespace doppel {
namespace {

using Json = nlohmann::json;

struct Capture {
  const char* file;
  GfxFamily family;
  std::map<std::string, int> least;  // packets that must be there
};

void PrintTo(const Capture& capture, std::ostream* out) {
  *out << capture.file;
}

packets::Language language_of(const Json& line) {
  const std::string queue = line["queue"];
  if (queue.find("(sdma") != std::string::npos) return packets::Language::Sdma;
  if (queue.find("(pm4") != std::string::npos) return packets::Language::Pm4;
  // What an AQL packet calls is PM4.
  const bool in_ib = line["place"].get<std::string>().find("of the IB") != std::string::npos;
  return in_ib ? packets::Language::Pm4 : packets::Language::Aql;
}

class ClientGolden : public ::testing::TestWithParam<Capture> {};

TEST_P(ClientGolden, EveryPacketIsWhatItWas) {
  const auto path = test::source_dir() / "tests/golden/clients" / GetParam().file;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::map<std::string, int> seen;
  for (std::string text; std::getline(file, text);) {
    const Json line = Json::parse(text);
    if (line.value("event", "") != "packet") continue;
    std::vector<uint32_t> dwords;
    for (const Json& word : line["dwords"])
      dwords.push_back(static_cast<uint32_t>(std::stoul(word.get<std::string>(), nullptr, 0)));
    const packets::Packet packet =
        packets::next_packet(language_of(line), dwords, GetParam().family);
    ASSERT_TRUE(packet.ok()) << text << "\n" << packet.error->message;
    EXPECT_EQ(packet.size, dwords.size()) << text;
    EXPECT_EQ(packet.name(), line["name"]);
    Json fields = Json::object();
    for (const packets::FieldText& field : packets::describe_fields(packet))
      fields[std::string(field.field->name)] = field.text;
    EXPECT_EQ(fields, line["fields"]) << text;
    ++seen[packet.name()];
  }
  for (const auto& [name, count] : GetParam().least) EXPECT_GE(seen[name], count) << name;
}

INSTANTIATE_TEST_SUITE_P(
    Captures, ClientGolden,
    ::testing::Values(Capture{"tinygrad-2026-08-gfx1100.jsonl",
                              GfxFamily::Gfx11,
                              {{"DISPATCH_DIRECT", 10}, {"RELEASE_MEM", 10}, {"COPY_LINEAR", 5}}},
                      Capture{"hip-5.2-vector-add-gfx1030.jsonl",
                              GfxFamily::Gfx10_3,
                              {{"KERNEL_DISPATCH", 3}, {"COPY_LINEAR", 3}}}),
    [](const auto& info) { return std::string(info.index == 0 ? "Tinygrad" : "Hip"); });

}  // namespace
}  // namespace doppel
