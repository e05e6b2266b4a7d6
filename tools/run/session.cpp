#include "tools/run/session.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace doppel::tools {
namespace {

constexpr const char* kTemplate = "/doppel-XXXXXX";
// Memory first: the files are many and small.
constexpr std::array kPlaces = {"/dev/shm", "/tmp"};

std::unexpected<Status> system_error(std::string_view what) {
  const int os_error = errno;
  return error(StatusCode::System, fmt::format("{} ({}).", what, std::strerror(os_error)),
               os_error);
}

/// Waits until the process has ended, whoever its parent is.
void await_end(int pidfd) {
  pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
  while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void be_the_janitor(int pidfd, const std::string& directory) {
  setsid();
  // Nothing of the client's may hang on the janitor: neither pipes nor directories nor signals.
  const int null = open("/dev/null", O_RDWR);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  const int watched = fcntl(pidfd, F_DUPFD, 3);
  if (watched > 3) close_range(3, static_cast<unsigned>(watched) - 1, 0);
  close_range(static_cast<unsigned>(watched) + 1, ~0u, 0);
  (void)!chdir("/");
  await_end(watched);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  _exit(0);
}

}  // namespace

Result<std::string> begin_session() {
  std::string directory;
  for (const char* place : kPlaces) {
    directory = std::string(place) + kTemplate;
    if (mkdtemp(directory.data()) != nullptr) break;
    directory.clear();
  }
  if (directory.empty()) return system_error("There is no place for the emulated machine's files");
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  const pid_t child = pidfd < 0 ? -1 : fork();
  if (child < 0) {
    auto failure = system_error("The janitor of the emulated machine's files can't be started");
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    return failure;
  }
  if (child == 0) {
    // Twice, so that the client never sees a child that it did not start.
    if (fork() == 0) be_the_janitor(pidfd, directory);
    _exit(0);
  }
  close(pidfd);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return directory;
}

}  // namespace doppel::tools
