// Faults as the culprits of findings.
#pragma once

#include <string>

#include "core/verify/finding.h"
#include "emulator/fault.h"
#include "emulator/verify/observer.h"

namespace doppel::verify {

/// An address that is not mapped, or not for that.
inline bool is_page_fault(const emu::Fault& fault) {
  return fault.address && (fault.kind == emu::FaultKind::UnmappedAccess ||
                           fault.kind == emu::FaultKind::PermissionDenied);
}

/// The packet that faulted, with the instruction if a kernel's did. The kernel is named by its
/// address.
Culprit culprit_of(const emu::QueueRef& queue, const emu::Fault& fault, std::string role);

}  // namespace doppel::verify
