// Nothing at all: the cost of a dispatch itself.
#include "device.h"

KERNEL void empty(void) {}
