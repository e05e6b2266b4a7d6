#include "backends/mock/sysfs_tree.h"

#include <cerrno>
#include <deque>

#include <fmt/format.h>

namespace doppel::mock {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's path walk

std::unexpected<Status> no_such(const std::string& path, int os_error) {
  return error(StatusCode::NotFound,
               fmt::format("The emulated machine has no such file ({}).", path), os_error);
}

std::deque<std::string> components(std::string_view path) {
  std::deque<std::string> parts;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (slash != 0) parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

}  // namespace

void SysfsTree::add_parents(std::string_view path) {
  for (size_t slash = path.rfind('/'); slash != 0 && slash != std::string_view::npos;
       slash = path.rfind('/', slash - 1))
    if (!entries_.emplace(path.substr(0, slash), Directory{}).second) return;
}

void SysfsTree::add_file(const std::string& path, std::string content) {
  add_parents(path);
  entries_[path] = File{std::move(content)};
}

void SysfsTree::add_directory(const std::string& path) {
  add_parents(path);
  entries_.emplace(path, Directory{});
}

void SysfsTree::add_link(const std::string& path, std::string target) {
  add_parents(path);
  entries_[path] = Link{std::move(target)};
}

Result<std::string> SysfsTree::resolve(const std::string& path) const {
  std::deque<std::string> rest = components(path);
  std::string at;
  int links = 0;
  while (!rest.empty()) {
    const std::string part = std::move(rest.front());
    rest.pop_front();
    if (part == ".") continue;
    if (part == "..") {
      at.erase(at.empty() ? 0 : at.rfind('/'));
      continue;
    }
    at += "/" + part;
    auto entry = entries_.find(at);
    if (entry == entries_.end()) return no_such(path, ENOENT);
    if (const Link* link = std::get_if<Link>(&entry->second)) {
      if (++links > kMaxLinks) return no_such(path, ELOOP);
      std::deque<std::string> target = components(link->target);
      rest.insert(rest.begin(), target.begin(), target.end());
      at.clear();
    } else if (std::holds_alternative<File>(entry->second) && !rest.empty()) {
      return no_such(path, ENOTDIR);
    }
  }
  return at;
}

Result<std::string> SysfsTree::read(const std::string& path) const {
  DOPPEL_ASSIGN(const std::string real, resolve(path));
  auto entry = entries_.find(real);
  const File* file = entry == entries_.end() ? nullptr : std::get_if<File>(&entry->second);
  if (file == nullptr) return no_such(path, EISDIR);
  return file->content;
}

Result<std::vector<std::string>> SysfsTree::list(const std::string& path) const {
  DOPPEL_ASSIGN(const std::string real, resolve(path));
  auto entry = entries_.find(real);
  if (entry == entries_.end() || !std::holds_alternative<Directory>(entry->second))
    return no_such(path, ENOTDIR);
  const std::string prefix = real + "/";
  std::vector<std::string> names;
  for (auto child = entries_.lower_bound(prefix);
       child != entries_.end() && child->first.starts_with(prefix); ++child) {
    const std::string_view name = std::string_view(child->first).substr(prefix.size());
    if (name.find('/') == std::string_view::npos) names.emplace_back(name);
  }
  return names;
}

}  // namespace doppel::mock
