#include "backends/mock/preload/fake_root.h"

#include "core/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "backends/mock/preload/numa_tree.h"
#include "backends/mock/raw_system.h"

namespace doppel::mock::preload {
namespace {

// What is ours below /sys, /dev and /proc. A prefix ends at a component, or within one where it
// ends in a letter that only our names continue ("renderD").
constexpr std::string_view kPrefixes[] = {
    "/sys/devices/virtual/kfd",
    "/sys/class/kfd",
    "/sys/class/drm",
    "/sys/dev/char/226:",
    "/sys/module/amdgpu",
    "/sys/bus/pci/drivers/amdgpu",
    "/dev/dri",
    "/proc/modules",
};
// Our PCI functions: bus 3 to 10 of domain 0, function 0.
constexpr std::string_view kPciPrefixes[] = {"/sys/bus/pci/devices/0000:",
                                             "/sys/devices/pci0000:00/0000:"};

constexpr const char* kReady = "/.ready";
constexpr const char* kLock = "/.lock";

bool begins_at_component(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return false;
  return path.size() == prefix.size() || path[prefix.size()] == '/' || prefix.ends_with(':');
}

bool is_our_pci_function(std::string_view rest) {
  // "03:00.0" to "0a:00.0"
  if (rest.size() < 7 || rest.substr(2, 5) != ":00.0" || rest[0] != '0') return false;
  return (rest[1] >= '3' && rest[1] <= '9') || rest[1] == 'a';
}

std::unexpected<Status> can_not(std::string_view what, const std::string& path) {
  const int os_error = errno;
  return error(
      StatusCode::System,
      fmt::format("The machine's files can't be {} ({}): {}.", what, path, std::strerror(os_error)),
      os_error);
}

Result<> write_file(const std::string& path, std::string_view content) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd.get() < 0 ||
      ::write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    return can_not("written", path);
  return {};
}

Result<> write_entry(const std::string& root, const std::string& path,
                     const SysfsTree::Entry& entry) {
  const std::string real = root + path;
  if (const auto* file = std::get_if<SysfsTree::File>(&entry))
    return write_file(real, file->content);
  if (const auto* link = std::get_if<SysfsTree::Link>(&entry)) {
    if (::symlink((root + link->target).c_str(), real.c_str()) != 0 && errno != EEXIST)
      return can_not("linked", real);
    return {};
  }
  if (::mkdir(real.c_str(), 0755) != 0 && errno != EEXIST) return can_not("made", real);
  return {};
}

std::string host_modules() {
  return read_text_file("/proc/modules").value_or("");
}

/// sysfs, and what else makes a machine with the driver loaded.
SysfsTree whole_tree(const SysfsTree& sysfs, const Machine& machine) {
  SysfsTree tree = sysfs;
  tree.add_file("/sys/module/amdgpu/initstate", "live\n");
  tree.add_file("/sys/module/amdgpu/version", "6.7.0\n");
  tree.add_file("/sys/module/amdgpu/refcnt", "1\n");
  tree.add_file("/sys/module/amdgpu/coresize", "17477632\n");
  tree.add_directory("/sys/module/amdgpu/holders");
  tree.add_directory("/dev/dri/by-path");
  add_numa_node(tree, machine.profile());
  tree.add_file("/proc/modules", host_modules() + "amdgpu 17477632 1 - Live 0x0000000000000000\n");
  // Opening these never reaches the file: they are here to be listed.
  for (const VirtualGpu& gpu : machine.gpus())
    tree.add_file(fmt::format("/dev/dri/renderD{}", gpu.render_minor()), "");
  return tree;
}

}  // namespace

Result<FakeRoot> FakeRoot::prepare(std::string directory, const SysfsTree& sysfs,
                                   const Machine& machine) {
  FakeRoot root(std::move(directory));
  const std::string& top = root.directory_;
  UniqueFd guard(::open((top + kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (guard.get() < 0 || ::flock(guard.get(), LOCK_EX) != 0) return can_not("locked", top + kLock);
  if (::faccessat(AT_FDCWD, (top + kReady).c_str(), F_OK, 0) == 0) return root;
  const SysfsTree tree = whole_tree(sysfs, machine);
  for (const auto& [path, entry] : tree.entries()) DOPPEL_TRY(write_entry(top, path, entry));
  DOPPEL_TRY(write_file(top + kReady, ""));
  return root;
}

bool FakeRoot::covers(std::string_view path) {
  if (!path.starts_with("/sys/") && !path.starts_with("/dev/dri") &&
      !path.starts_with("/proc/modules"))
    return false;
  for (std::string_view prefix : kPrefixes)
    if (begins_at_component(path, prefix)) return true;
  for (std::string_view prefix : kPciPrefixes)
    if (path.starts_with(prefix) && is_our_pci_function(path.substr(prefix.size()))) return true;
  return begins_at_component(path, kNumaNodes) && host_hides_its_nodes();
}

const char* FakeRoot::redirect(std::string_view path, std::array<char, PATH_MAX>& buffer) const {
  if (directory_.size() + path.size() + 1 > buffer.size()) return nullptr;
  directory_.copy(buffer.data(), directory_.size());
  path.copy(buffer.data() + directory_.size(), path.size());
  buffer[directory_.size() + path.size()] = '\0';
  return buffer.data();
}

size_t FakeRoot::prefix_of(std::string_view path) const {
  return path.starts_with(directory_) && path.size() > directory_.size() ? directory_.size() : 0;
}

}  // namespace doppel::mock::preload
