#include "backends/mock/virtual_kernel.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "backends/mock/ioctl_names.h"
#include "backends/mock/loaded_program.h"
#include "backends/mock/raw_system.h"
#include "backends/mock/stepping_progress.h"
#include "backends/mock/virtual_topology.h"
#include "core/own_thread.h"

namespace doppel::mock {
namespace {

constexpr std::string_view kRenderNodePrefix = "/dev/dri/renderD";

std::optional<uint32_t> render_minor(std::string_view path) {
  if (!path.starts_with(kRenderNodePrefix)) return std::nullopt;
  path.remove_prefix(kRenderNodePrefix.size());
  uint32_t minor = 0;
  auto [end, failure] = std::from_chars(path.data(), path.data() + path.size(), minor);
  if (failure != std::errc{} || end != path.data() + path.size()) return std::nullopt;
  return minor;
}

bool writable(int flags) {
  return (flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == O_WRONLY;
}

}  // namespace

Result<std::unique_ptr<VirtualKernel>> VirtualKernel::create(MachineProfile profile,
                                                             const MakeProgress& make_progress,
                                                             const Verify& verify) {
  DOPPEL_ASSIGN(MemfdBacking kfd_file, MemfdBacking::create("doppel-kfd", kKfdFileBytes, 0, 0));
  std::unique_ptr<VirtualKernel> kernel(
      new VirtualKernel(std::move(profile), make_progress, std::move(kfd_file)));
  if (verify.any()) {
    DOPPEL_ASSIGN(kernel->verifier_,
                  verify::Verifier::attach(kernel->machine_.simulator(), verify));
    if (verify.unseen_host) kernel->verifier_->name_kernels_by(&function_name);
    kernel->host_observer_ =
        std::make_unique<LockedHostObserver>(*kernel->progress_, *kernel->verifier_);
  }
  DOPPEL_TRY(kernel->kfd_.start());
  return kernel;
}

VirtualKernel::VirtualKernel(MachineProfile profile, const MakeProgress& make_progress,
                             MemfdBacking kfd_file)
    : machine_(std::move(profile)),
      sysfs_(make_sysfs(machine_)),
      progress_(make_progress ? make_progress(machine_.simulator())
                              : std::make_unique<SteppingProgress>(machine_.simulator())),
      kfd_file_(std::move(kfd_file)),
      kfd_(machine_, *progress_, *this, kfd_file_.fd(),
           {.minor = machine_.profile().kfd_minor_version}),
      drm_(machine_, *progress_, *this) {}

VirtualKernel::~VirtualKernel() = default;

int VirtualKernel::open_render_node(uint32_t index, bool close_on_exec) {
  auto file = DrmFile::open(machine_.gpus()[index]);
  if (!file) return -ENOMEM;
  (*file)->vm().observe(machine_.simulator().observer());
  const int fd = raw::duplicate((*file)->backing().fd(), close_on_exec);
  if (fd >= 0) drm_files_.emplace((*file)->backing().identity(), std::move(*file));
  return fd;
}

int VirtualKernel::open(const char* path, int flags) {
  std::lock_guard hold(progress_->lock());
  const std::string_view name(path);
  const bool close_on_exec = (flags & O_CLOEXEC) != 0;
  if (name == "/dev/kfd") return raw::duplicate(kfd_file_.fd(), close_on_exec);
  const std::optional<uint32_t> minor = render_minor(name);
  if (minor && *minor >= kFirstRenderMinor && *minor - kFirstRenderMinor < machine_.gpus().size())
    return open_render_node(*minor - kFirstRenderMinor, close_on_exec);
  if (auto content = sysfs_.read(path); !content) return -content.error().os_error();
  // Files below /sys are read with read_file; they have no descriptors in process.
  return writable(flags) ? -EACCES : -EOPNOTSUPP;
}

int VirtualKernel::close(int fd) {
  std::lock_guard hold(progress_->lock());
  raw::FileIdentity identity;
  if (const int failure = raw::file_identity(fd, identity)) return failure;
  const int result = raw::close_fd(fd);
  dmabufs_.erase(identity);
  auto file = drm_files_.find(identity);
  // The KFD keeps the file whose address space it uses; another one is gone with its descriptor.
  if (file != drm_files_.end() && !file->second->is_compute_vm()) drm_files_.erase(file);
  return result;
}

std::shared_ptr<DrmFile> VirtualKernel::find(int fd) {
  raw::FileIdentity identity;
  if (raw::file_identity(fd, identity) != 0) return nullptr;
  auto file = drm_files_.find(identity);
  return file == drm_files_.end() ? nullptr : file->second;
}

DeviceNode VirtualKernel::node_of(int fd) {
  std::lock_guard hold(progress_->lock());
  raw::FileIdentity identity;
  if (raw::file_identity(fd, identity) != 0) return {};
  if (identity == kfd_file_.identity()) return {.kind = DeviceNode::Kind::Kfd};
  auto file = drm_files_.find(identity);
  if (file == drm_files_.end()) return {};
  return {.kind = DeviceNode::Kind::Render, .minor = file->second->gpu().render_minor()};
}

int VirtualKernel::ioctl(int fd, unsigned long request, void* argument) {
  std::lock_guard hold(progress_->lock());
  raw::FileIdentity identity;
  if (const int failure = raw::file_identity(fd, identity)) return failure;
  const auto address = reinterpret_cast<uint64_t>(argument);
  if (FaultPlan& faults = machine_.faults(); !faults.empty()) {
    if (const int failure = faults.on_ioctl(ioctl_name(request))) return -failure;
  }
  if (identity == kfd_file_.identity()) return kfd_.ioctl(request, address);
  if (auto file = drm_files_.find(identity); file != drm_files_.end())
    return drm_.ioctl(*file->second, request, address);
  return -ENOTTY;
}

int VirtualKernel::check_mmap(int fd, uint64_t offset, size_t length) {
  raw::FileIdentity identity;
  if (const int failure = raw::file_identity(fd, identity)) return failure;
  if (identity == kfd_file_.identity()) return kfd_.check_mmap(offset, length);
  auto file = drm_files_.find(identity);
  if (file == drm_files_.end()) return -ENODEV;
  return file->second->backing().holds(offset, page_align(length)) ? 0 : -EINVAL;
}

void* VirtualKernel::mmap(void* address, size_t length, int protection, int flags, int fd,
                          uint64_t offset, int* os_error) {
  std::lock_guard hold(progress_->lock());
  int failure = 0;
  // A private mapping without access is only a reservation, whatever the descriptor.
  const bool reservation = protection == PROT_NONE && (flags & MAP_PRIVATE) != 0;
  if (fd >= 0 && !reservation) {
    failure = check_mmap(fd, offset, length);
    if (failure == 0) failure = -machine_.faults().on_mmap();
  }
  if (failure == 0) {
    void* mapped = raw::map(address, length, protection, flags, fd, offset);
    if (mapped != MAP_FAILED) return mapped;
    failure = -errno;
  }
  if (os_error != nullptr) *os_error = -failure;
  return nullptr;
}

int VirtualKernel::munmap(void* address, size_t length) {
  std::lock_guard hold(progress_->lock());
  kfd_.invalidate_user_memory(reinterpret_cast<uint64_t>(address), length);
  return ::munmap(address, length) == 0 ? 0 : -errno;
}

Result<std::string> VirtualKernel::read_file(const std::string& path) {
  return sysfs_.read(path);
}

Result<std::vector<std::string>> VirtualKernel::list_dir(const std::string& path) {
  return sysfs_.list(path);
}

Result<kfd::RenderNodeInfo> VirtualKernel::render_node_info(int fd) {
  std::lock_guard hold(progress_->lock());
  std::shared_ptr<DrmFile> file = find(fd);
  if (file == nullptr)
    return error(StatusCode::InvalidArgument,
                 fmt::format("The descriptor is no render node (fd {}).", fd), EINVAL);
  return drm_.describe(file->gpu());
}

kfd::Relax VirtualKernel::relax() {
  std::lock_guard hold(progress_->lock());
  return machine_.simulator().step() ? kfd::Relax::Again : kfd::Relax::Stalled;
}

bool VirtualKernel::others_may_act() {
  std::error_code failed;
  const std::filesystem::directory_iterator threads("/proc/self/task", failed);
  if (failed) return false;
  return std::distance(begin(threads), end(threads)) > int64_t{1} + OwnThread::count();
}

bool VirtualKernel::host_goes_on() {
  std::lock_guard hold(progress_->lock());
  return !machine_.simulator().step_before_host();
}

std::string VirtualKernel::stall_report() {
  std::lock_guard hold(progress_->lock());
  return machine_.simulator().stall_report();
}

std::string VirtualKernel::fault_report() {
  std::string report;
  for (const emu::Fault& fault : faults()) report.append(1, '\n').append(fault.to_string());
  return report;
}

std::optional<verify::FindingLog> VirtualKernel::findings() {
  std::lock_guard hold(progress_->lock());
  if (!verifier_) return std::nullopt;
  return verifier_->findings();
}

uint64_t VirtualKernel::now_ns() const {
  std::lock_guard hold(progress_->lock());
  return progress_->now_ns();
}

int VirtualKernel::export_dmabuf(std::shared_ptr<BufferObject> object, uint32_t flags) {
  // A file without pages: the object is known by its inode.
  auto token = MemfdBacking::create("doppel-dmabuf", 0, 0, 0);
  if (!token) return -ENOMEM;
  const int fd = raw::duplicate(token->fd(), (flags & O_CLOEXEC) != 0);
  const raw::FileIdentity identity = token->identity();
  if (fd >= 0) dmabufs_.emplace(identity, Dmabuf{std::move(*token), std::move(object)});
  return fd;
}

std::shared_ptr<BufferObject> VirtualKernel::find_dmabuf(int fd) {
  raw::FileIdentity identity;
  if (raw::file_identity(fd, identity) != 0) return nullptr;
  auto dmabuf = dmabufs_.find(identity);
  return dmabuf == dmabufs_.end() ? nullptr : dmabuf->second.object;
}

Usage VirtualKernel::usage() {
  std::lock_guard hold(progress_->lock());
  Usage usage;
  for (const ProcessDevice& device : kfd_.process().devices) {
    usage.allocations += device.allocations.size();
    for (const auto& [id, allocation] : device.allocations)
      usage.mapped_allocations += allocation.mapped.empty() ? 0 : 1;
  }
  usage.queues = kfd_.process().queues.size();
  usage.events = kfd_.process().events.size();
  for (const auto& [identity, file] : drm_files_) usage.gem_objects += file->gem_objects.size();
  for (const VirtualGpu& gpu : machine_.gpus()) usage.vram_bytes += gpu.vram_used();
  usage.gtt_bytes = machine_.gtt_used();
  usage.system_bytes = machine_.system_used();
  return usage;
}

std::vector<emu::Fault> VirtualKernel::faults() {
  std::lock_guard hold(progress_->lock());
  return {kfd_.faults().begin(), kfd_.faults().end()};
}

}  // namespace doppel::mock
