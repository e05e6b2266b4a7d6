// The selftest on the emulated machine: all steps pass; and each row of the table of causes comes
// out where a double of the driver fails in its way.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backends/mock/virtual_kernel.h"
#include "core/code_object.h"
#include "core/target.h"
#include "tests/tools/failing_kernel.h"
#include "tools/selftest/causes.h"
#include "tools/selftest/kernels.h"
#include "tools/selftest/selftest.h"

namespace doppel::selftest {
namespace {

using testing::FailingKernel;
using ::testing::HasSubstr;

std::shared_ptr<kfd::KernelAbi> machine(std::string_view name) {
  auto profile = mock::parse_machine(name);
  if (!profile) throw std::runtime_error(profile.error().to_string());
  auto kernel = mock::VirtualKernel::create(*std::move(profile));
  if (!kernel) throw std::runtime_error(kernel.error().to_string());
  return *std::move(kernel);
}

constexpr std::string_view kTwoGpus = "mock:gfx1100,cu=4,count=2";

const StepReport& step(const Report& report, std::string_view name) {
  const auto found = std::ranges::find(report.steps, name, &StepReport::name);
  if (found == report.steps.end()) throw std::runtime_error("no such step");
  return *found;
}

class Healthy : public ::testing::TestWithParam<const char*> {};

TEST_P(Healthy, EveryStepPasses) {
  const Report report = run(machine(GetParam()), {.machine = GetParam(), .emulated = true});
  for (const StepReport& step : report.steps) {
    EXPECT_EQ(step.outcome, Outcome::Passed) << step.name << ": " << step.detail;
  }
  EXPECT_EQ(report.steps.size(), step_names().size());
  EXPECT_TRUE(report.passed());
}

INSTANTIATE_TEST_SUITE_P(Models, Healthy,
                         ::testing::Values("mock:gfx1100,cu=4,count=2", "mock:gfx1030,cu=4,count=2",
                                           "mock:gfx1151,cu=4,count=2"),
                         [](const auto& info) {
                           return std::regex_replace(std::string(info.param), std::regex("\\W"),
                                                     "_");
                         });

TEST(Selftest, OneGpuHasNoPeer) {
  const Report report = run(machine("mock:gfx1100,cu=4"), {.machine = "mock"});
  EXPECT_EQ(step(report, "second-gpu").outcome, Outcome::NotApplicable);
  EXPECT_EQ(step(report, "multi-gpu-graph").outcome, Outcome::Blocked);
  EXPECT_TRUE(report.passed());
}

TEST(Selftest, ASmallBarIsNoFailure) {
  const Report report = run(machine("mock:gfx1030,cu=4,bar=small"), {.machine = "mock"});
  EXPECT_TRUE(report.passed()) << report.to_text();
}

TEST(Selftest, AMissingGpuIsNamed) {
  const Report report = run(machine("mock:gfx1100,cu=4"), {.machine = "mock", .gpu = 3});
  EXPECT_THAT(step(report, "gpu-node").detail, HasSubstr("no GPU 3"));
}

TEST(Selftest, EveryTargetHasDeviceCode) {
  for (const Target& target : all_targets()) {
    const auto code = code_object_for(target);
    const auto object = CodeObject::parse(code);
    ASSERT_TRUE(object) << target.name << ": " << object.error().to_string();
    EXPECT_EQ(object->target().name, target.name);
  }
}

TEST(Selftest, NeedsNameEarlierSteps) {
  std::set<std::string_view> earlier;
  for (const auto& [name, title] : step_names()) EXPECT_TRUE(earlier.insert(name).second) << name;
  for (const CauseRow& row : cause_rows()) EXPECT_TRUE(earlier.contains(row.step)) << row.step;
}

// ---- Failures: what goes wrong, and the step that says so.

using Break = std::function<void(FailingKernel&)>;

struct Failure {
  std::string_view step;
  std::string label;
  Break inject;
};

/// Every such ioctl fails.
Break refuse(unsigned long request, int os_error) {
  return [=](FailingKernel& kernel) {
    kernel.before_ioctl = [=](unsigned long number, void*) -> std::optional<int> {
      if (number != request) return std::nullopt;
      return -os_error;
    };
  };
}

Break refuse_open(std::string_view prefix, int os_error) {
  return [=](FailingKernel& kernel) {
    kernel.on_open = [=](std::string_view path) -> std::optional<int> {
      if (!path.starts_with(prefix)) return std::nullopt;
      return -os_error;
    };
  };
}

/// The driver's answer is changed.
template <class Args>
Break falsify(unsigned long request, std::function<void(Args&)> change) {
  return [=](FailingKernel& kernel) {
    kernel.after_ioctl = [=](unsigned long number, void* argument) {
      if (number == request) change(*static_cast<Args*>(argument));
    };
  };
}

/// Files of the topology say something else.
Break rewrite_file(std::string_view suffix, const std::string& from, const std::string& to) {
  return [=](FailingKernel& kernel) {
    kernel.on_read = [=, &kernel](const std::string& path) -> std::optional<Result<std::string>> {
      if (!path.ends_with(suffix)) return std::nullopt;
      auto text = kernel.inner().read_file(path);
      if (!text) return std::nullopt;  // a directory
      return std::regex_replace(*text, std::regex(from), to);
    };
  };
}

Break refuse_file(std::string_view suffix, int os_error) {
  return [=](FailingKernel& kernel) {
    kernel.on_read = [=](const std::string& path) -> std::optional<Result<std::string>> {
      if (!path.ends_with(suffix)) return std::nullopt;
      return error(StatusCode::System, "refused", os_error);
    };
  };
}

Break answer_render_info(const Result<kfd::RenderNodeInfo>& answer) {
  return [=](FailingKernel& kernel) { kernel.on_render_info = [=] { return answer; }; };
}

Break refuse_allocation(uint32_t with, uint32_t without, int os_error) {
  return [=](FailingKernel& kernel) {
    kernel.before_ioctl = [=](unsigned long number, void* argument) -> std::optional<int> {
      if (number != AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) return std::nullopt;
      const uint32_t flags = static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(argument)->flags;
      if ((flags & with) != with || (flags & without) != 0) return std::nullopt;
      return -os_error;
    };
  };
}

Break refuse_queue(uint32_t type, int os_error) {
  return [=](FailingKernel& kernel) {
    kernel.before_ioctl = [=](unsigned long number, void* argument) -> std::optional<int> {
      if (number != AMDKFD_IOC_CREATE_QUEUE) return std::nullopt;
      if (static_cast<kfd_ioctl_create_queue_args*>(argument)->queue_type != type)
        return std::nullopt;
      return -os_error;
    };
  };
}

/// The nth (from 1) allocation of system memory of that size.
class NthAllocation {
 public:
  NthAllocation(uint64_t bytes, int nth) : bytes_(bytes), nth_(nth) {}

  /// The allocation's arguments, when this successful ioctl is the one.
  const kfd_ioctl_alloc_memory_of_gpu_args* match(unsigned long request, void* argument) {
    if (request != AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) return nullptr;
    const auto* args = static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(argument);
    if (args->size != bytes_ || (args->flags & KFD_IOC_ALLOC_MEM_FLAGS_GTT) == 0) return nullptr;
    return ++count_ == nth_ ? args : nullptr;
  }

 private:
  uint64_t bytes_;
  int nth_;
  int count_ = 0;
};

constexpr uint64_t kQueueBuffer = 16384;  // of the steps that try queues
constexpr uint64_t kGraphBuffer = 8192;

/// Time passes and the device does nothing.
void freeze(FailingKernel& kernel) {
  auto now = std::make_shared<uint64_t>(0);
  kernel.on_relax = [] { return kfd::Relax::Again; };
  kernel.on_clock = [now](uint64_t real) { return real + (*now += 1'000'000'000); };
  kernel.before_ioctl = [](unsigned long request, void* argument) -> std::optional<int> {
    if (request != AMDKFD_IOC_WAIT_EVENTS) return std::nullopt;
    auto& args = *static_cast<kfd_ioctl_wait_events_args*>(argument);
    args.wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
    return 0;
  };
}

void stall(FailingKernel& kernel) {
  kernel.on_relax = [] { return kfd::Relax::Stalled; };
}

using Effect = std::function<void(FailingKernel&)>;

/// From the creation of that kind of queue on.
Break after_queue(uint32_t type, Effect effect) {
  return [=](FailingKernel& kernel) {
    kernel.after_ioctl = [=, &kernel](unsigned long number, void* argument) {
      if (number == AMDKFD_IOC_CREATE_QUEUE &&
          static_cast<kfd_ioctl_create_queue_args*>(argument)->queue_type == type)
        effect(kernel);
    };
  };
}

Break after_allocation(uint64_t bytes, int nth, Effect effect) {
  return [=](FailingKernel& kernel) {
    auto wanted = std::make_shared<NthAllocation>(bytes, nth);
    kernel.after_ioctl = [=, &kernel](unsigned long number, void* argument) {
      if (wanted->match(number, argument) != nullptr) effect(kernel);
    };
  };
}

/// The CPU finds another value in the buffer each time it has waited.
Break corrupt(uint64_t bytes, int nth) {
  return [=](FailingKernel& kernel) {
    auto wanted = std::make_shared<NthAllocation>(bytes, nth);
    auto handle = std::make_shared<uint64_t>(0);
    kernel.after_ioctl = [=, &kernel](unsigned long number, void* argument) {
      if (number == AMDKFD_IOC_FREE_MEMORY_OF_GPU &&
          static_cast<kfd_ioctl_free_memory_of_gpu_args*>(argument)->handle == *handle)
        kernel.on_relax = nullptr;
      const auto* args = wanted->match(number, argument);
      if (args == nullptr) return;
      *handle = args->handle;
      auto* word = reinterpret_cast<volatile uint32_t*>(args->va_addr);
      kernel.on_relax = [word, &kernel] {
        const kfd::Relax relax = kernel.inner().relax();
        *word = 0xbad;
        return relax;
      };
    };
  };
}

/// The driver says that it maps the buffer for that GPU (0: any), and does not.
Break pretend_to_map(uint64_t bytes, int nth, uint32_t flag = KFD_IOC_ALLOC_MEM_FLAGS_GTT) {
  return [=](FailingKernel& kernel) {
    auto handle = std::make_shared<uint64_t>(0);
    auto count = std::make_shared<int>(0);
    kernel.after_ioctl = [=](unsigned long number, void* argument) {
      if (number != AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) return;
      const auto& args = *static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(argument);
      if (args.size == bytes && (args.flags & flag) != 0 && ++*count == nth) *handle = args.handle;
    };
    kernel.before_ioctl = [=](unsigned long number, void* argument) -> std::optional<int> {
      if (number != AMDKFD_IOC_MAP_MEMORY_TO_GPU) return std::nullopt;
      auto& args = *static_cast<kfd_ioctl_map_memory_to_gpu_args*>(argument);
      if (*handle == 0 || args.handle != *handle) return std::nullopt;
      args.n_success = args.n_devices;
      return 0;
    };
  };
}

/// Mapping for a GPU other than the first (peer access) goes as `answer` says.
Break on_peer_map(uint64_t bytes, std::function<int(kfd_ioctl_map_memory_to_gpu_args&)> answer) {
  return [=](FailingKernel& kernel) {
    auto handles = std::make_shared<std::set<uint64_t>>();
    auto seen = std::make_shared<std::set<uint64_t>>();
    kernel.after_ioctl = [=](unsigned long number, void* argument) {
      if (number != AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) return;
      const auto& args = *static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(argument);
      if (args.size == bytes) handles->insert(args.handle);
    };
    kernel.before_ioctl = [=](unsigned long number, void* argument) -> std::optional<int> {
      if (number != AMDKFD_IOC_MAP_MEMORY_TO_GPU) return std::nullopt;
      auto& args = *static_cast<kfd_ioctl_map_memory_to_gpu_args*>(argument);
      if (!handles->contains(args.handle) || seen->insert(args.handle).second) return std::nullopt;
      return answer(args);
    };
  };
}

/// The nth such ioctl fails.
Break refuse_nth(unsigned long request, int nth, int os_error) {
  return [=](FailingKernel& kernel) {
    auto count = std::make_shared<int>(0);
    kernel.before_ioctl = [=](unsigned long number, void*) -> std::optional<int> {
      if (number != request || ++*count != nth) return std::nullopt;
      return -os_error;
    };
  };
}

/// WAIT_EVENTS with that timeout sees nothing.
Break no_event(uint32_t timeout_ms) {
  return [=](FailingKernel& kernel) {
    kernel.before_ioctl = [=](unsigned long number, void* argument) -> std::optional<int> {
      if (number != AMDKFD_IOC_WAIT_EVENTS) return std::nullopt;
      auto& args = *static_cast<kfd_ioctl_wait_events_args*>(argument);
      if (args.timeout != timeout_ms) return std::nullopt;
      args.wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
      return 0;
    };
  };
}

/// One page stands for all pages of a buffer that the CPU maps.
Break alias_pages(uint64_t bytes) {
  return [=](FailingKernel& kernel) {
    kernel.on_device_mmap = [=](void* address, size_t length) -> std::optional<void*> {
      if (length != bytes) return std::nullopt;
      const int page = memfd_create("alias", 0);
      if (page < 0 || ftruncate(page, 4096) != 0) return nullptr;
      for (size_t at = 0; at < length; at += 4096) {
        ::mmap(static_cast<std::byte*>(address) + at, 4096, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED, page, 0);
      }
      ::close(page);
      return address;
    };
  };
}

/// No register page for flushing, and after the interrupt step nothing runs.
Break break_host_flush() {
  return [](FailingKernel& kernel) {
    kernel.before_ioctl = [](unsigned long number, void* argument) -> std::optional<int> {
      if (number == AMDKFD_IOC_ALLOC_MEMORY_OF_GPU &&
          (static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(argument)->flags &
           KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) != 0)
        return -EINVAL;
      return std::nullopt;
    };
    kernel.after_ioctl = [&kernel](unsigned long number, void* argument) {
      if (number == AMDKFD_IOC_WAIT_EVENTS &&
          static_cast<kfd_ioctl_wait_events_args*>(argument)->timeout == 2000)
        stall(kernel);
    };
  };
}

constexpr uint32_t kSdma = KFD_IOC_QUEUE_TYPE_SDMA, kPm4 = KFD_IOC_QUEUE_TYPE_COMPUTE,
                   kAql = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
constexpr uint32_t kVram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM, kGtt = KFD_IOC_ALLOC_MEM_FLAGS_GTT,
                   kPublic = KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC,
                   kUserptr = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR,
                   kExecutable = KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;
constexpr uint64_t kSignalPool = 65536 * 64;

std::vector<Failure> failures() {
  using Apertures = kfd_ioctl_get_process_apertures_new_args;
  using Clocks = kfd_ioctl_get_clock_counters_args;
  const auto render_error = [](int os_error) -> Result<kfd::RenderNodeInfo> {
    return std::unexpected(status_from_errno(os_error, "refused"));
  };
  std::vector<Failure> all;
  const auto add = [&all](std::string_view step, std::string label, Break inject) {
    all.push_back({step, std::move(label), std::move(inject)});
  };
  for (int os_error : {ENOENT, EACCES, EPERM, ENXIO, EAGAIN})
    add("open-kfd", strerrorname_np(os_error), refuse_open("/dev/kfd", os_error));
  add("kfd-version", "ENOTTY", refuse(AMDKFD_IOC_GET_VERSION, ENOTTY));
  add("kfd-version", "EBADF", refuse(AMDKFD_IOC_GET_VERSION, EBADF));
  add("kfd-version", "Abi2",
      falsify<kfd_ioctl_get_version_args>(AMDKFD_IOC_GET_VERSION,
                                          [](auto& args) { args.major_version = 2; }));
  add("topology", "Hidden", refuse_file("topology/nodes", ENOENT));
  add("topology", "Garbage", rewrite_file("properties", "simd_count", "simd count"));
  add("topology", "Restless", [](FailingKernel& kernel) {
    auto generation = std::make_shared<int>(0);
    kernel.on_read = [=](const std::string& path) -> std::optional<Result<std::string>> {
      if (!path.ends_with("generation_id")) return std::nullopt;
      return std::to_string(++*generation);
    };
  });
  add("gpu-node", "Cgroup", refuse_file("/gpu_id", EPERM));
  add("gpu-node", "NewTarget",
      rewrite_file("properties", "gfx_target_version .*", "gfx_target_version 990000"));
  add("render-node", "ENOENT", refuse_open("/dev/dri/", ENOENT));
  add("render-node", "EACCES", refuse_open("/dev/dri/", EACCES));
  add("render-node", "EPERM", refuse_open("/dev/dri/", EPERM));
  add("render-node", "NoMinor",
      rewrite_file("properties", "drm_render_minor .*", "drm_render_minor 0"));
  add("drm-driver", "Radeon", answer_render_info([] {
        kfd::RenderNodeInfo info;
        info.driver_name = "radeon";
        info.driver_major = 2;
        return info;
      }()));
  for (int os_error : {EACCES, ENODEV, EINVAL})
    add("drm-driver", strerrorname_np(os_error), answer_render_info(render_error(os_error)));
  for (int os_error : {EBUSY, EINVAL, ENOMEM})
    add("acquire-vm", strerrorname_np(os_error), refuse(AMDKFD_IOC_ACQUIRE_VM, os_error));
  add("apertures", "None", falsify<Apertures>(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, [](auto& args) {
        args.num_of_nodes = 0;
      }));
  add("clocks", "Backwards", [](FailingKernel& kernel) {
    auto ticks = std::make_shared<uint64_t>(1000);
    falsify<Clocks>(AMDKFD_IOC_GET_CLOCK_COUNTERS,
                    [=](auto& args) { args.gpu_clock_counter = --*ticks; })(kernel);
  });
  add("vram", "ENOMEM", refuse_allocation(kVram, kPublic, ENOMEM));
  add("vram", "EINVAL", refuse_allocation(kVram, kPublic, EINVAL));
  add("vram-cpu", "ENOMEM", refuse_allocation(kVram | kPublic, 0, ENOMEM));
  add("vram-cpu", "EINVAL", refuse_allocation(kVram | kPublic, 0, EINVAL));
  add("vram-cpu", "Aliased", alias_pages(1 << 20));
  add("gtt", "ENOMEM", refuse_allocation(kGtt, 0, ENOMEM));
  add("userptr", "ENOMEM", refuse_allocation(kUserptr, 0, ENOMEM));
  add("userptr", "ENODEV", refuse_allocation(kUserptr, 0, ENODEV));
  add("events", "ENOSPC", refuse(AMDKFD_IOC_CREATE_EVENT, ENOSPC));
  add("events", "EINVAL", refuse(AMDKFD_IOC_CREATE_EVENT, EINVAL));
  add("event-wait", "Silent", no_event(1000));
  add("device", "Apertures", refuse_nth(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, 2, EINVAL));
  for (int os_error : {ENOMEM, EINVAL}) {
    add("sdma-queue", strerrorname_np(os_error), refuse_queue(kSdma, os_error));
    add("aql-queue", strerrorname_np(os_error), refuse_queue(kAql, os_error));
  }
  for (int os_error : {ENOMEM, EINVAL, EBUSY, EIO, ETIME})
    add("pm4-queue", strerrorname_np(os_error), refuse_queue(kPm4, os_error));
  add("sdma-copy", "Frozen", after_queue(kSdma, freeze));
  add("sdma-copy", "Stalled", after_queue(kSdma, stall));
  add("sdma-copy", "Unmapped", pretend_to_map(kQueueBuffer, 2));
  add("sdma-copy", "Corrupt", corrupt(kQueueBuffer, 2));
  add("pm4-signal", "Frozen", after_queue(kPm4, freeze));
  add("pm4-signal", "Stalled", after_queue(kPm4, stall));
  add("pm4-signal", "Unmapped", pretend_to_map(kSignalPool, 1));
  add("interrupt", "Silent", no_event(2000));
  add("host-flush", "Stalled", break_host_flush());
  add("program", "ENOMEM", refuse_allocation(kExecutable, 0, ENOMEM));
  add("pm4-kernel", "Frozen", after_allocation(kQueueBuffer, 4, freeze));
  add("pm4-kernel", "Unmapped", pretend_to_map(kQueueBuffer, 4));
  add("pm4-kernel", "Corrupt", corrupt(kQueueBuffer, 4));
  add("aql-kernel", "Frozen", after_allocation(kQueueBuffer, 6, freeze));
  add("aql-kernel", "Unmapped", pretend_to_map(kQueueBuffer, 6));
  add("graph", "Corrupt", corrupt(kGraphBuffer, 2));
  add("second-gpu", "EINVAL", refuse_nth(AMDKFD_IOC_ACQUIRE_VM, 2, EINVAL));
  add("peer-copy", "EINVAL", on_peer_map(kGraphBuffer, [](auto&) { return -EINVAL; }));
  add("peer-copy", "Unmapped", on_peer_map(kGraphBuffer, [](auto& args) {
        args.n_success = args.n_devices;
        return 0;
      }));
  add("multi-gpu-graph", "Corrupt", corrupt(kGraphBuffer, 5));
  return all;
}

const std::vector<Failure>& all_failures() {
  static const std::vector<Failure> all = failures();
  return all;
}

Report run_broken(const Failure& failure) {
  const auto kernel = std::make_shared<FailingKernel>(machine(kTwoGpus));
  failure.inject(*kernel);
  return run(kernel, {.machine = "broken"});
}

class Broken : public ::testing::TestWithParam<size_t> {};

TEST_P(Broken, IsExplained) {
  const Failure& failure = all_failures()[GetParam()];
  const Report report = run_broken(failure);
  const StepReport& failed = step(report, failure.step);
  ASSERT_EQ(failed.outcome, Outcome::Failed) << report.to_text();
  EXPECT_GE(failed.causes.size(), 2u) << "only the general advice\n" << report.to_text();
  const std::string text = report.to_text();
  for (const std::string_view cause : failed.causes) EXPECT_THAT(text, HasSubstr(cause));
}

INSTANTIATE_TEST_SUITE_P(Selftest, Broken, ::testing::Range(size_t{0}, all_failures().size()),
                         [](const auto& info) {
                           const Failure& failure = all_failures()[info.param];
                           std::string name(failure.step);
                           std::ranges::replace(name, '-', '_');
                           return name + "_" + failure.label;
                         });

TEST(Selftest, EveryCauseIsToldBySomeFailure) {
  std::set<std::string_view> told;
  for (const Failure& failure : all_failures()) {
    const Report report = run_broken(failure);
    const auto& causes = step(report, failure.step).causes;
    told.insert(causes.begin(), causes.end());
  }
  for (const CauseRow& row : cause_rows()) EXPECT_TRUE(told.contains(row.text)) << row.text;
}

TEST(Selftest, WhoNeedsAFailedStepIsSkipped) {
  const auto kernel = std::make_shared<FailingKernel>(machine(kTwoGpus));
  refuse_queue(kSdma, ENOMEM)(*kernel);
  const Report report = run(kernel, {.machine = "broken"});
  EXPECT_EQ(step(report, "sdma-copy").outcome, Outcome::Blocked);
  EXPECT_EQ(step(report, "sdma-copy").detail, "needs sdma-queue");
  EXPECT_EQ(step(report, "pm4-kernel").outcome, Outcome::Passed);
  EXPECT_FALSE(report.passed());

  const auto json = nlohmann::json::parse(report.to_json());
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["steps"].size(), step_names().size());
  for (const auto& row : json["steps"]) {
    EXPECT_EQ(row.contains("causes"), row["outcome"] == "failed") << row;
  }
}

}  // namespace
}  // namespace doppel::selftest
