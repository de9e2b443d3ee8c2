// Virtual time of host threads, in seconds since the start. Every thread has its own; calls move it on a little,
// waiting for a stream moves it to the end of the work. Clocks of the operating system stay real.
#pragma once

namespace virtual_platform {

double host_now();
void host_advance(double seconds);
void host_join(double time);  // not before `time`
double latest_host_time();    // of all threads

}  // namespace virtual_platform
