// Programs on libdrm: what a card of the model tells of itself, and buffers shared and mapped.
#include "tests/client/run_client.h"
#include "tests/paths.h"

namespace doppel::client {
namespace {

TEST(Libdrm, ListsTheDevice) {
  REQUIRE_PROGRAM("drmdevice");
  const Outcome outcome = run("--gpu gfx1030,cu=4", "drmdevice");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(outcome.says("Devices reported 1")) << outcome.output;
  EXPECT_TRUE(outcome.says("device_id     73bf")) << outcome.output;
}

std::string without_line(const std::string& text, const std::string& beginning) {
  const size_t begin = text.find(beginning);
  if (begin == std::string::npos) return text;
  const size_t end = text.find('\n', begin);
  return text.substr(0, begin) + (end == std::string::npos ? "" : text.substr(end + 1));
}

// Versions: the GC and SDMA blocks of Navi 31 as the kernel's amdgpu_discovery.c names them.
TEST(Libdrm, QueriesSharesAndIsRefusedSubmission) {
  const Outcome outcome = run("--gpu gfx1100,vram=4GiB", test::binary_dir() / "bin/libdrm_device");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(outcome.says("name: AMD Radeon")) << "libdrm's amdgpu.ids; old ones know less";
  EXPECT_EQ(without_line(outcome.output, "name: "),
            "driver: amdgpu 3\n"
            "render node: 1\n"
            "device: 744c, shader engines: 6, compute units: 96\n"
            "vram: 4294967296, visible: 4294967296, used: 0\n"
            "mec firmware: 1\n"
            "ip 1: 11.0\n"
            "ip 2: 6.0\n"
            "clock: 2371 MHz\n"
            "temperature: -22\n"
            "prime: 3, syncobj: 0\n"
            "dma-buf: 65536 bytes, \"shared\"\n"
            "vram: 4294967296, visible: 4294967296, used: 65536\n"
            "context: -22\n");
}

}  // namespace
}  // namespace doppel::client
