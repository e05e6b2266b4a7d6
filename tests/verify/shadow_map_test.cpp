#include "emulator/verify/shadow_map.h"

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

namespace doppel::verify {
namespace {

DeedRef deed(ActorId actor, uint64_t number) {
  auto deed = std::make_shared<Deed>();
  deed->epoch = {actor, Line::Front, number};
  deed->actor = fmt::format("a{}.{}", actor, number);
  return deed;
}

std::string dump(const ShadowMap& map, uint64_t begin, uint64_t end) {
  std::string text;
  map.visit(begin, end, [&](uint64_t from, uint64_t to, const ShadowMap::Segment& segment) {
    fmt::format_to(std::back_inserter(text), "[{},{}) {}", from, to,
                   segment.writer ? segment.writer->actor : "-");
    for (const DeedRef& reader : segment.readers) text += " r:" + reader->actor;
    text += "; ";
  });
  return text;
}

TEST(ShadowMap, KnowsNothingAtFirst) {
  const ShadowMap map;
  EXPECT_EQ(dump(map, 0, 1000), "");
}

TEST(ShadowMap, AWriteReplacesWhatItCovers) {
  ShadowMap map;
  map.write(0, 100, deed(1, 1), false);
  map.write(40, 60, deed(2, 1), false);
  EXPECT_EQ(dump(map, 0, 100), "[0,40) a1.1; [40,60) a2.1; [60,100) a1.1; ");
  map.write(0, 100, deed(3, 1), false);
  EXPECT_EQ(dump(map, 0, 100), "[0,100) a3.1; ");
  EXPECT_EQ(dump(map, 100, 200), "");
}

TEST(ShadowMap, ReadersGatherUntilTheNextWrite) {
  ShadowMap map;
  const Past none;
  map.write(0, 64, deed(1, 1), false);
  map.read(0, 32, deed(2, 1), none);
  map.read(16, 64, deed(3, 1), none);
  EXPECT_EQ(dump(map, 0, 64),
            "[0,16) a1.1 r:a2.1; [16,32) a1.1 r:a2.1 r:a3.1; [32,64) a1.1 r:a3.1; ");
  map.write(0, 64, deed(4, 1), false);
  EXPECT_EQ(dump(map, 0, 64), "[0,64) a4.1; ");
}

TEST(ShadowMap, AReaderThatHappenedBeforeANewOneIsDropped) {
  ShadowMap map;
  Past past;
  map.read(0, 8, deed(1, 1), past);
  past.order().add({1, Line::Front, 1});
  map.read(0, 8, deed(2, 1), past);
  EXPECT_EQ(dump(map, 0, 8), "[0,8) - r:a2.1; ");
}

TEST(ShadowMap, ForgottenBytesAreFresh) {
  ShadowMap map;
  map.write(0, 100, deed(1, 1), false);
  map.forget(10, 20);
  EXPECT_EQ(dump(map, 0, 100), "[0,10) a1.1; [20,100) a1.1; ");
}

}  // namespace
}  // namespace doppel::verify
