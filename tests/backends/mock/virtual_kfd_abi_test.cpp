// The ioctl interface as such: every number, sizes of structures, bad pointers, fork, and the small
// answers.
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "core/prng.h"
#include "tests/backends/mock/kernel_fixture.h"

namespace doppel::mock::testing {
namespace {

/// What an all-zero argument gets from a driver that nobody has acquired a VM of.
struct Answer {
  uint32_t number;
  int zero_argument;
};

// Linux kfd_chardev.c read against a zeroed structure, one row per ioctl it has.
constexpr Answer kAnswers[] = {
    {0x01, 0},        // GET_VERSION
    {0x02, -EINVAL},  // CREATE_QUEUE: gpu_id 0
    {0x03, -EINVAL},  // DESTROY_QUEUE: no queue 0
    {0x04, -EINVAL},  // SET_MEMORY_POLICY: gpu_id 0
    {0x05, 0},        // GET_CLOCK_COUNTERS: a node without GPU
    {0x06, 0},        // GET_PROCESS_APERTURES
    {0x07, -EFAULT},  // UPDATE_QUEUE: no queue 0
    {0x08, 0},        // CREATE_EVENT: a signal, on the driver's own page
    {0x09, -EINVAL},  // DESTROY_EVENT
    {0x0a, -EINVAL},  // SET_EVENT
    {0x0b, -EINVAL},  // RESET_EVENT
    {0x0c, 0},        // WAIT_EVENTS: for none
    {0x0d, -EPERM},   // DBG_REGISTER, deprecated like the next three
    {0x0e, -EPERM},  {0x0f, -EPERM}, {0x10, -EPERM}, {0x11, -EINVAL},  // SET_SCRATCH_BACKING_VA
    {0x12, -EINVAL},                                                   // GET_TILE_CONFIG
    {0x13, -EINVAL},                                                   // SET_TRAP_HANDLER
    {0x14, 0},        // GET_PROCESS_APERTURES_NEW: how many?
    {0x15, -EINVAL},  // ACQUIRE_VM: descriptor 0 is no render node
    {0x16, -EINVAL},  // ALLOC_MEMORY_OF_GPU: size 0
    {0x17, -EINVAL},  // FREE_MEMORY_OF_GPU
    {0x18, -EINVAL},  // MAP_MEMORY_TO_GPU: no devices
    {0x19, -EINVAL},  // UNMAP_MEMORY_FROM_GPU
    {0x1a, -EINVAL},  // SET_CU_MASK: empty
    {0x1b, -EFAULT},  // GET_QUEUE_WAVE_STATE
    {0x1c, -EINVAL},  // GET_DMABUF_INFO: descriptor 0 is none
    {0x1d, -EINVAL},  // IMPORT_DMABUF
    {0x1e, -EINVAL},  // ALLOC_QUEUE_GWS
    {0x1f, -EINVAL},  // SMI_EVENTS
    {0x20, -EPERM},   // SVM
    {0x21, 0},        // SET_XNACK_MODE: off, as it is
    {0x22, -EACCES},  // CRIU_OP
    {0x23, -EINVAL},  // AVAILABLE_MEMORY
    {0x24, -EINVAL},  // EXPORT_DMABUF
    {0x25, 0},        // RUNTIME_ENABLE: disable
    {0x26, -ESRCH},   // DBG_TRAP: no process 0
};

const Answer* find_answer(uint32_t number) {
  for (const Answer& answer : kAnswers)
    if (answer.number == number) return &answer;
  return nullptr;
}

unsigned long request(uint32_t number, size_t size) {
  return _IOC(_IOC_READ | _IOC_WRITE, 'K', number, size);
}

TEST(VirtualKfdAbi, EveryNumberAnswersAsTheKernel) {
  for (uint32_t number = 0; number <= 0xff; ++number) {
    Client client;
    alignas(8) char zero[512] = {};
    const Answer* answer = find_answer(number);
    EXPECT_EQ(client.kernel->ioctl(client.kfd, request(number, sizeof zero), zero),
              answer == nullptr ? -ENOTTY : answer->zero_argument)
        << "nr 0x" << std::hex << number << " " << VirtualKfd::ioctl_name(number);
    EXPECT_EQ(VirtualKfd::ioctl_name(number).empty(), answer == nullptr);
  }
}

TEST(VirtualKfdAbi, NullPointersFault) {
  Client client;
  for (const Answer& answer : kAnswers) {
    const int result = client.kernel->ioctl(client.kfd, request(answer.number, 64), nullptr);
    EXPECT_EQ(result, -EFAULT) << "nr 0x" << std::hex << answer.number;
  }
}

TEST(VirtualKfdAbi, UnreadablePointersFault) {
  Client client;
  void* hole = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (const Answer& answer : kAnswers)
    EXPECT_EQ(client.kernel->ioctl(client.kfd, request(answer.number, 64), hole), -EFAULT);
  munmap(hole, 4096);
}

TEST(VirtualKfdAbi, RandomArgumentsNeverCrash) {
  Prng random(7);
  Client client("mock:gfx1100,cu=4,vram=64MiB,count=2");
  client.acquire_all();
  for (int round = 0; round < 20000; ++round) {
    const auto number = static_cast<uint32_t>(random.below(0x28));
    if (number == 0x0c) continue;  // waits are tested on their own
    alignas(8) uint64_t words[32];
    for (uint64_t& word : words) {
      switch (random.below(5)) {
        case 0:
          word = 0;
          break;
        case 1:
          word = random.below(16);
          break;
        case 2:
          word = client.gpu(random.below(2)) | random.below(4) << 32;
          break;
        case 3:
          word = reinterpret_cast<uint64_t>(words);
          break;
        default:
          word = random.next();
      }
    }
    const int result =
        client.kernel->ioctl(client.kfd, request(number, random.below(sizeof words)), words);
    ASSERT_LE(result, 0) << number;
  }
}

TEST(VirtualKfdAbi, SmallerAndLargerStructuresWork) {
  Client client;
  // Only the first word is the client's; the word behind it must stay as it is.
  uint32_t words[3] = {0, 77, 77};
  ASSERT_EQ(client.kernel->ioctl(client.kfd, request(0x01, 4), words), 0);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 77u);
  // A client of a future version sends more than the driver knows: it comes back untouched.
  uint32_t many[64] = {};
  many[60] = 5;
  ASSERT_EQ(client.kernel->ioctl(client.kfd, request(0x05, sizeof many), many), 0);
  EXPECT_EQ(many[60], 5u);
}

TEST(VirtualKfdAbi, TheTypeOfTheRequestDoesNotCount) {
  Client client;
  kfd_ioctl_get_version_args args{};
  EXPECT_EQ(client.kernel->ioctl(client.kfd, _IOC(_IOC_NONE, 'X', 0x01, sizeof args), &args), 0);
  EXPECT_EQ(args.major_version, 1u);
  EXPECT_EQ(args.minor_version, 14u);
}

TEST(VirtualKfdAbi, ForeignDescriptors) {
  Client client;
  kfd_ioctl_get_version_args args{};
  EXPECT_EQ(client.kernel->ioctl(12345, AMDKFD_IOC_GET_VERSION, &args), -EBADF);
  EXPECT_EQ(client.kernel->ioctl(STDERR_FILENO, AMDKFD_IOC_GET_VERSION, &args), -ENOTTY);
}

TEST(VirtualKfdAbi, AForkedChildHasNoDriver) {
  Client client;
  const pid_t child = fork();
  if (child == 0) {
    kfd_ioctl_get_version_args args{};
    _exit(client.kernel->ioctl(client.kfd, AMDKFD_IOC_GET_VERSION, &args) == -EBADF ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(VirtualKfdAbi, ADuplicateIsTheSameDevice) {
  Client client;
  const int copy = dup(client.kfd);
  kfd_ioctl_get_version_args args{};
  EXPECT_EQ(client.kernel->ioctl(copy, AMDKFD_IOC_GET_VERSION, &args), 0);
  close(copy);
}

TEST(VirtualKfdAbi, ClocksAgreeWithEachOther) {
  Client client;
  client.kernel->machine().simulator().clock().advance_ns(123'456'789);
  kfd_ioctl_get_clock_counters_args args{};
  args.gpu_id = client.gpu();
  ASSERT_EQ(client.call(AMDKFD_IOC_GET_CLOCK_COUNTERS, args), 0);
  EXPECT_EQ(args.system_clock_freq, 1'000'000'000u);
  EXPECT_EQ(args.system_clock_counter, client.kernel->now_ns());
  EXPECT_EQ(args.gpu_clock_counter, gpu_ticks(args.system_clock_counter)) << "100 MHz";
}

TEST(VirtualKfdAbi, AperturesOfAllGpus) {
  Client client("mock:gfx1100,cu=4,vram=1GiB,count=3");
  kfd_ioctl_get_process_apertures_new_args args{};
  ASSERT_EQ(client.call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args), 0);
  EXPECT_EQ(args.num_of_nodes, 3u);
  std::vector<kfd_process_device_apertures> apertures(8);
  args.num_of_nodes = 8;
  args.kfd_process_device_apertures_ptr = reinterpret_cast<uint64_t>(apertures.data());
  ASSERT_EQ(client.call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args), 0);
  EXPECT_EQ(args.num_of_nodes, 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(apertures[i].gpu_id, client.gpu(i));
    EXPECT_EQ(apertures[i].lds_base, uint64_t{1} << 48);
    EXPECT_EQ(apertures[i].scratch_base, uint64_t{2} << 48);
    EXPECT_GE(apertures[i].gpuvm_limit, (uint64_t{1} << 47) - 1) << "the client's whole space";
  }
  args.num_of_nodes = 3;
  args.kfd_process_device_apertures_ptr = 0;
  EXPECT_EQ(client.call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args), -EFAULT);
  kfd_ioctl_get_process_apertures_args old{};
  ASSERT_EQ(client.call(AMDKFD_IOC_GET_PROCESS_APERTURES, old), 0);
  EXPECT_EQ(old.num_of_nodes, 3u);
  EXPECT_EQ(old.process_apertures[2].gpu_id, client.gpu(2));
}

TEST(VirtualKfdAbi, XnackIsOffAndStaysOff) {
  Client client;
  kfd_ioctl_set_xnack_mode_args args{.xnack_enabled = -1};
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_XNACK_MODE, args), 0);
  EXPECT_EQ(args.xnack_enabled, 0);
  args.xnack_enabled = 1;
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_XNACK_MODE, args), -EPERM);
}

TEST(VirtualKfdAbi, PerDeviceSettingsNeedTheVm) {
  Client client;
  kfd_ioctl_set_memory_policy_args policy{};
  policy.gpu_id = client.gpu();
  kfd_ioctl_set_scratch_backing_va_args scratch{
      .va_addr = kVaBase, .gpu_id = client.gpu(), .pad = 0};
  kfd_ioctl_set_trap_handler_args trap{
      .tba_addr = 1, .tma_addr = 2, .gpu_id = client.gpu(), .pad = 0};
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_MEMORY_POLICY, policy), -ESRCH);
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_SCRATCH_BACKING_VA, scratch), -ENODEV);
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_TRAP_HANDLER, trap), -ESRCH);
  client.acquire_all();
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_MEMORY_POLICY, policy), 0);
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_SCRATCH_BACKING_VA, scratch), 0);
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_TRAP_HANDLER, trap), 0);
  policy.default_policy = 2;
  EXPECT_EQ(client.call(AMDKFD_IOC_SET_MEMORY_POLICY, policy), -EINVAL);
}

TEST(VirtualKfdAbi, TileConfiguration) {
  Client client;
  uint32_t tiles[64] = {};
  uint32_t macro_tiles[64] = {};
  kfd_ioctl_get_tile_config_args args{};
  args.tile_config_ptr = reinterpret_cast<uint64_t>(tiles);
  args.macro_tile_config_ptr = reinterpret_cast<uint64_t>(macro_tiles);
  args.num_tile_configs = args.num_macro_tile_configs = 64;
  args.gpu_id = client.gpu();
  ASSERT_EQ(client.call(AMDKFD_IOC_GET_TILE_CONFIG, args), 0);
  EXPECT_EQ(args.num_tile_configs, 32u);
  EXPECT_EQ(args.num_macro_tile_configs, 16u);
  EXPECT_NE(args.gb_addr_config, 0u);
  args.tile_config_ptr = 0;
  EXPECT_EQ(client.call(AMDKFD_IOC_GET_TILE_CONFIG, args), -EFAULT);
}

TEST(VirtualKfdAbi, NothingIsDebuggable) {
  Client client;
  kfd::abi::DbgTrapArgs args{.pid = static_cast<uint32_t>(getpid()), .op = 0, .operands = {}};
  EXPECT_EQ(client.call(kfd::abi::kDbgTrap, args), -ENODEV);
  args.op = 3;
  EXPECT_EQ(client.call(kfd::abi::kDbgTrap, args), -EINVAL);
}

TEST(VirtualKernel, OpensItsDevicesAndNoOthers) {
  Client client("mock:gfx1100,cu=4,vram=1GiB,count=2");
  EXPECT_EQ(client.kernel->node_of(client.kfd).kind, DeviceNode::Kind::Kfd);
  EXPECT_EQ(client.kernel->node_of(client.render[1]).kind, DeviceNode::Kind::Render);
  EXPECT_EQ(client.kernel->node_of(client.render[1]).minor, 129u);
  EXPECT_EQ(client.kernel->node_of(STDERR_FILENO).kind, DeviceNode::Kind::None);
  EXPECT_EQ(client.kernel->open("/dev/dri/renderD130", O_RDWR), -ENOENT);
  EXPECT_EQ(client.kernel->open("/dev/dri/renderD12x", O_RDWR), -ENOENT);
  EXPECT_EQ(client.kernel->open("/dev/null", O_RDWR), -ENOENT);
  EXPECT_EQ(client.kernel->close(12345), -EBADF);
}

TEST(VirtualKernel, AnIdleGpuCostsLittleMemory) {
  const auto resident = [] {
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    EXPECT_EQ(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * 4096;
  };
  const long before = resident();
  Client client("mock:gfx1100");
  client.acquire_all();
  kfd_ioctl_alloc_memory_of_gpu_args args;
  ASSERT_EQ(client.allocate(kVaBase, uint64_t{20} << 30, kVram, args), 0);
  ASSERT_EQ(client.map(args.handle, {client.gpu()}), 0);
  EXPECT_LT(resident() - before, 100l << 20);
}

}  // namespace
}  // namespace doppel::mock::testing
