#include "backends/mock/preload/shim.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "backends/mock/preload/memory_guard.h"
#include "backends/mock/raw_system.h"
#include "backends/report/reporting_kernel.h"
#include "core/verify/report.h"
#include "emulator/isa/coverage.h"

namespace doppel::mock::preload {
namespace {

constexpr const char* kDefaultGpu = "mock:gfx1100";
constexpr int kFindingsStatus = 86;
constexpr std::string_view kRenderNode = "/dev/dri/renderD";

// Constant-initialised: valid before this library's constructors and after its destructors.
std::atomic<Shim*> the_shim = nullptr;
std::atomic<bool> failed = false;
pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
// Of the process that forked this one; inode 0 if none did that had one.
raw::FileIdentity parents_kfd;
thread_local bool making_here = false;  // calls of ours while the shim is being made are not ours

const char* setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

/// A directory that goes away with the process, for want of one that the launcher provides.
Result<std::string> make_own_directory() {
  static char path[] = "/tmp/doppel-XXXXXX";
  if (::mkdtemp(path) == nullptr)
    return error(StatusCode::System, "There is no place for the machine's files (/tmp).", errno);
  ::atexit([] {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  });
  return std::string(path);
}

/// What the launcher wants to be checked.
Result<Verify> wanted_checks() {
  Verify verify;
  const char* checks = setting("DOPPEL_VERIFY", nullptr);
  if (checks == nullptr) return verify;
  DOPPEL_ASSIGN(verify, Verify::parse(checks));
  verify.unseen_host = true;
  verify.suppressions = setting("DOPPEL_SUPPRESSIONS", "");
  return verify;
}

/// The CPU side of the topology is the machine the client runs on.
void describe_host(MachineProfile& machine) {
  struct sysinfo info {};
  if (::sysinfo(&info) == 0)
    machine.host_memory_bytes = uint64_t{info.totalram} * info.mem_unit & ~uint64_t{4095};
  machine.host_cores = static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

Shim* Shim::existing() {
  return the_shim.load(std::memory_order_acquire);
}

Shim* Shim::get() {
  if (Shim* shim = existing()) return shim;
  if (making_here || failed) return nullptr;
  making_here = true;
  pthread_mutex_lock(&making);
  Shim* shim = existing();
  if (shim == nullptr && !failed) {
    shim = new Shim();
    if (auto started = shim->start(); started) {
      the_shim.store(shim, std::memory_order_release);
    } else {
      fmt::print(stderr, "doppel: {}\n", started.error().to_string());
      failed = true;
      shim = nullptr;
    }
  }
  pthread_mutex_unlock(&making);
  making_here = false;
  return shim;
}

void Shim::forget_after_fork() {
  if (const Shim* parent = existing()) parents_kfd = parent->kfd_;
  // What the parent had stays allocated and untouched: its lock may be held for ever here.
  the_shim = nullptr;
  making = PTHREAD_MUTEX_INITIALIZER;
}

bool Shim::is_parents_kfd(int fd) {
  raw::FileIdentity identity;
  return parents_kfd.inode != 0 && raw::file_identity(fd, identity) == 0 && identity == parents_kfd;
}

Result<> Shim::start() {
  DOPPEL_ASSIGN(MachineProfile machine, parse_machine(setting("DOPPEL_GPU", kDefaultGpu)));
  if (machine.persona == nullptr) describe_host(machine);
  report_coverage(machine);
  DOPPEL_ASSIGN(const Verify verify, wanted_checks());
  DOPPEL_ASSIGN(kernel_, VirtualKernel::create(
                             std::move(machine),
                             [this](emu::Simulator& simulator) {
                               auto engine = std::make_unique<EngineProgress>(
                                   simulator, [this] { after_slice(); });
                               engine_ = engine.get();
                               return engine;
                             },
                             verify));
  kfd_ = kernel_->kfd_identity();
  std::string directory = setting("DOPPEL_ROOT", "");
  if (directory.empty()) {
    DOPPEL_ASSIGN(directory, make_own_directory());
  }
  DOPPEL_ASSIGN(root_,
                FakeRoot::prepare(std::move(directory), kernel_->sysfs(), kernel_->machine()));
  return {};
}

/// Counts what kernels execute and writes it when the process exits, where the launcher asks so.
/// A forked child has no GPU and writes nothing.
void Shim::report_coverage(MachineProfile& machine) {
  // Never destroyed: the engine may run until the process is gone.
  static const auto& path = *new std::string(setting("DOPPEL_ISA_COVERAGE", ""));
  static auto& coverage = *new isa::Coverage;
  static pid_t owner;
  if (path.empty()) return;
  owner = ::getpid();
  machine.coverage = &coverage;
  ::atexit([] {
    if (::getpid() != owner) return;
    if (auto written = coverage.write(path); !written)
      fmt::print(stderr, "doppel: {}\n", written.error().message());
  });
}

void Shim::start_observers() {
  const auto tell = [](const Status& failure) {
    fmt::print(stderr, "doppel: {}\n", failure.to_string());
  };
  std::vector<emu::Observer*> others;
  if (const char* path = setting("DOPPEL_TRACE", nullptr)) {
    if (auto trace = Trace::open(path); trace) {
      trace_ = std::move(*trace);
      if (verify::Verifier* verifier = kernel_->verifier()) {
        verifier->pass_on_to(*trace_);
      } else {
        kernel_->machine().simulator().observe(trace_.get());
        others.push_back(trace_.get());
      }
    } else {
      tell(trace.error());
    }
  }
  report_ = report::ProcessReport::begin(*kernel_, std::move(others));
  if (kernel_->verifier() != nullptr) report_findings_at_exit();
  if (const char* path = setting("DOPPEL_SUMMARY", nullptr)) {
    if (auto summary = RunSummary::open(path, kernel_->machine()); summary) {
      summary_.emplace(std::move(*summary));
      ::atexit([] {
        if (Shim* shim = existing()) shim->finish_summary();
      });
    } else {
      tell(summary.error());
    }
  }
}

void Shim::start_engine() {
  start_observers();
  MemoryGuard::install([](uint64_t address) {
    Shim* shim = existing();
    return shim != nullptr && shim->kernel_->kfd().uses_user_memory(address);
  });
  engine_->start();
}

/// On the engine thread, the driver's lock held.
void Shim::after_slice() {
  report_lost_memory();
  report_faults();
  if (summary_) summary_->update(kernel_->machine());
}

void Shim::report_lost_memory() {
  const std::optional<uint64_t> address = MemoryGuard::take_lost();
  if (!address) return;
  fmt::print(stderr, "doppel: The program has taken away memory that a GPU uses (0x{:x}).\n",
             *address);
  kernel_->kfd().on_user_memory_lost(*address);
}

/// A program that succeeds fails if something was found. A forked child has no GPU.
void Shim::report_findings_at_exit() {
  static pid_t owner;
  owner = ::getpid();
  ::on_exit(
      [](int status, void*) {
        Shim* shim = existing();
        if (shim == nullptr || ::getpid() != owner || !shim->report_findings() || status != 0)
          return;
        std::fflush(nullptr);
        ::_exit(kFindingsStatus);
      },
      nullptr);
}

bool Shim::report_findings() {
  std::lock_guard hold(kernel_->progress().lock());
  kernel_->verifier()->note_stalls();
  const verify::FindingLog& log = kernel_->verifier()->findings();
  fmt::print(stderr, "{}", verify::report(log, verify::ReportFormat::Text));
  if (setting("GITHUB_ACTIONS", nullptr) != nullptr) {
    fmt::print(stderr, "{}", verify::report(log, verify::ReportFormat::Github));
  }
  if (const char* path = setting("DOPPEL_FINDINGS", nullptr)) {
    if (auto written = verify::write_report(log, path, program_invocation_short_name); !written) {
      fmt::print(stderr, "doppel: {}\n", written.error().to_string());
    }
  }
  return !log.empty();
}

void Shim::finish_summary() {
  std::lock_guard hold(kernel_->progress().lock());
  summary_->update(kernel_->machine());
}

/// What a guest did wrong is told at once.
void Shim::report_faults() {
  const uint64_t total = kernel_->kfd().fault_count();
  if (total == reported_faults_) return;
  const auto& faults = kernel_->kfd().faults();
  const size_t fresh = std::min<uint64_t>(total - reported_faults_, faults.size());
  for (size_t i = faults.size() - fresh; i < faults.size(); ++i)
    fmt::print(stderr, "doppel: {}\n", faults[i].to_string());
  reported_faults_ = total;
}

DeviceNode Shim::node_of_path(std::string_view path) {
  if (path == "/dev/kfd") return {.kind = DeviceNode::Kind::Kfd};
  if (!path.starts_with(kRenderNode)) return {};
  path.remove_prefix(kRenderNode.size());
  DeviceNode node{.kind = DeviceNode::Kind::Render};
  auto [end, failure] = std::from_chars(path.data(), path.data() + path.size(), node.minor);
  const bool number = failure == std::errc{} && end == path.data() + path.size();
  return number ? node : DeviceNode{};
}

bool Shim::has(const DeviceNode& node) const {
  return node.kind == DeviceNode::Kind::Kfd ||
         (node.kind == DeviceNode::Kind::Render && node.minor >= kFirstRenderMinor &&
          node.minor - kFirstRenderMinor < kernel_->machine().gpus().size());
}

int Shim::open_device(const char* path, int flags) {
  const bool is_kfd = node_of_path(path).kind == DeviceNode::Kind::Kfd;
  if (is_kfd) std::call_once(engine_started_, [this] { start_engine(); });
  const int fd = kernel_->open(path, flags);
  if (trace_ != nullptr) trace_->calls().open(path, flags, fd);
  return fd;
}

DeviceNode Shim::node_of(int fd) {
  raw::FileIdentity identity;
  if (raw::file_identity(fd, identity) != 0 || identity.device != kfd_.device) return {};
  return kernel_->node_of(fd);
}

int Shim::carry_out(int fd, unsigned long request, void* argument) {
  if (report_ == nullptr) return kernel_->ioctl(fd, request, argument);
  return report::reported_ioctl(*kernel_, report_->recorder(), fd, request, argument);
}

int Shim::ioctl(int fd, unsigned long request, void* argument) {
  const auto call = [&] { return carry_out(fd, request, argument); };
  return trace_ == nullptr ? call() : trace_->calls().ioctl(fd, request, argument, call);
}

}  // namespace doppel::mock::preload
