// A management library of one made-up device, for machines without a driver. It lacks a memory clock, as some
// devices do.

#include <cstdio>
#include <cstring>

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  static int only = 0;
  if (std::strcmp(address, "0000:1B:00.0") != 0) return 6;  // NVML_ERROR_NOT_FOUND
  *device = &only;
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "Imaginary 100");
  return 0;
}
int nvmlDeviceGetUUID(void*, char* uuid, unsigned length) {
  std::snprintf(uuid, length, "GPU-made-up");
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int which, unsigned* megahertz) {
  if (which != 1) return 3;  // NVML_ERROR_NOT_SUPPORTED
  *megahertz = 1980;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  *millijoules = 12500;
  return 0;
}
}
