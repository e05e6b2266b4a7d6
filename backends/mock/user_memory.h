// Access to the client's memory as the kernel does it: a bad pointer is an error, never a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace doppel::mock {

/// Addresses a user process may use (x86-64, 47 bits).
inline constexpr uint64_t kUserAddressEnd = uint64_t{1} << 47;

/// Whether [address, address + size) lies in user space at all, mapped or not (access_ok).
constexpr bool access_ok(uint64_t address, uint64_t size) {
  return size <= kUserAddressEnd && address <= kUserAddressEnd - size;
}

/// Copies from or to client memory. False (and nothing usable) if any byte is not accessible.
[[nodiscard]] bool copy_from_user(void* to, uint64_t from, size_t size);
[[nodiscard]] bool copy_to_user(uint64_t to, const void* from, size_t size);

template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] bool get_user(T& value, uint64_t address) {
  return copy_from_user(&value, address, sizeof value);
}

template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] bool put_user(uint64_t address, const T& value) {
  return copy_to_user(address, &value, sizeof value);
}

/// Faults in [address, address + size) for reading as get_user_pages does: 0, or -EFAULT if a page
/// is not mapped or not readable. Both are whole pages.
int pin_user_pages(uint64_t address, uint64_t size);

}  // namespace doppel::mock
