#include "tests/preload/early_client.h"

int main() {
  ask_driver("main");
  return 0;
}
