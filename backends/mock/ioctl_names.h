// The symbolic names of amdkfd's and amdgpu's ioctls, from the tables that the driver model is made
// of.
#pragma once

#include <string_view>

namespace doppel::mock {

/// By type and number, whatever the argument's size; "?" for one that is none of theirs.
std::string_view ioctl_name(unsigned long request);
/// Whether one of them is called so.
bool is_ioctl_name(std::string_view name);

}  // namespace doppel::mock
