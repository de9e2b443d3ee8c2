#include "harness/import/xid_codes.h"

#include <algorithm>
#include <array>

namespace claimcheck::importing {
namespace {

constexpr std::string_view reset = "Reset the GPU or reboot, then measure again; return the machine if it comes back.";
constexpr std::string_view replace = "Return the machine: this GPU is to be replaced.";
constexpr std::string_view program =
    "Most often a bug of the program: run another one on the same GPU; if that fails too, the GPU is suspect.";
constexpr std::string_view link =
    "nvidia-smi nvlink -e and -s; reset all GPUs of the machine; return the machine if it comes back.";
constexpr std::string_view service =
    "Reset the GPU or reboot; nvidia-smi may hang meanwhile, so give every call of it a time limit.";

// NVIDIA, "Xid Errors" and its catalog (docs.nvidia.com/deploy/xid-errors).
constexpr std::array codes = {
    XidCode{8, "warning", "the GPU stopped processing a channel", program},
    XidCode{13, "warning", "a program's kernel did what it may not (graphics engine exception)", program},
    XidCode{31, "warning", "a program read or wrote memory that it may not (memory page fault)", program},
    XidCode{32, "warning", "the GPU got an invalid stream of commands", program},
    XidCode{38, "error", "the driver's firmware met an error", service},
    XidCode{43, "warning", "the GPU stopped a program's work", program},
    XidCode{45, "warning", "the driver took down what was left of a program, after it was killed or after another Xid",
            "Look at the Xid before it: this one follows."},
    XidCode{46, "error", "the GPU stopped processing", reset},
    XidCode{48, "error", "a memory error of two bits that could not be corrected", reset},
    XidCode{56, "warning", "an error of the display engine", program},
    XidCode{57, "error", "an error of programming or of memory traffic", reset},
    XidCode{58, "error", "an unstable link to memory, or a bad chip", replace},
    XidCode{61, "error", "the GPU's own controller met an error", reset},
    XidCode{62, "error", "the GPU's own controller halted", reset},
    XidCode{63, "error",
            "bad memory was marked for replacement (page retirement or row remapping), which a reset carries out",
            "Reset the GPU or reboot, then measure again; nvidia-smi -q -d ROW_REMAPPER,PAGE_RETIREMENT."},
    XidCode{64, "error", "bad memory could not be replaced (page retirement or row remapping failed)", replace},
    XidCode{66, "warning", "an illegal access of the driver", program},
    XidCode{68, "warning", "an error of the video engine", program},
    XidCode{69, "warning", "an error of the graphics engine's class", program},
    XidCode{71, "error", "an error of a copy engine or link", link},
    XidCode{73, "warning", "an error of the video encoder", program},
    XidCode{74, "error", "an error on an NVLink", link},
    XidCode{78, "error", "a vGPU could not be started", "Check host driver, guest driver and license of the vGPU."},
    XidCode{79, "error", "the GPU fell off the PCIe bus: it no longer answers",
            "Power-cycle the machine; if it comes back, the card, its power or its slot is bad: return the machine."},
    XidCode{92, "warning", "many single-bit memory errors in a short time",
            "nvidia-smi -q -d ECC before and after a run; return the machine if the counter keeps rising."},
    XidCode{94, "error", "a memory error that was contained: it ended the program that met it",
            "What ran is void; restart it. Reset the GPU soon; nvidia-smi -q -d ECC,ROW_REMAPPER."},
    XidCode{95, "error", "a memory error that was not contained: other programs may have wrong data", reset},
    XidCode{109, "error", "a switch of context took too long", reset},
    XidCode{110, "error", "a security fault", reset},
    XidCode{119, "error", "the GPU's system processor (GSP) did not answer in time", service},
    XidCode{120, "error", "the GPU's system processor (GSP) met an error", service},
    XidCode{121, "warning", "an error on the link between chips (C2C)", reset},
    XidCode{122, "warning", "the power unit's settings could not be read (SPI)", reset},
    XidCode{123, "warning", "the power unit's settings could not be written (SPI)", reset},
    XidCode{125, "warning", "the information ROM could not be read", reset},
    XidCode{136, "error", "an NVLink did not train", link},
    XidCode{137, "warning", "an NVLink carried an access that it may not (fault of privilege)", program},
    XidCode{140, "error", "a memory error escaped that could not be recovered", reset},
    XidCode{143, "error", "the GPU did not start (initialisation failed)", reset},
    XidCode{144, "error", "NVLink: an error of the switch interface (SAW)", link},
    XidCode{145, "error", "NVLink: an error of a link (RLW)", link},
    XidCode{146, "error", "NVLink: an error of the transport layer (TLW)", link},
    XidCode{147, "error", "NVLink: an error of the transaction layer (TREX)", link},
    XidCode{148, "error", "NVLink: an error of the port's control (NVLPW)", link},
    XidCode{149, "error", "NVLink: an error of the network layer (NETIR), often a cable, module or switch", link},
    XidCode{150, "error", "NVLink: an error of the management unit (MSE)", link},
    XidCode{151, "error", "a key of confidential computing ran out", reset},
    XidCode{154, "error", "the driver says that the GPU has to be recovered",
            "Do what the line asks (drain, reset, reboot), then "
            "look at the Xid before it."},
    XidCode{155, "error", "NVLink: a software-defined error", link},
    XidCode{156, "error", "a resource was retired", reset},
    XidCode{157, "error", "a resource could not be retired", replace},
    XidCode{158, "error", "a fatal time-out of the GPU", reset},
    XidCode{167, "error", "a fatal PCIe time-out", reset},
    XidCode{171, "error", "memory errors, told in more detail than Xid 48", reset},
    XidCode{172, "error", "errors of on-chip memory, told in more detail than Xid 48", reset},
};

}  // namespace

const XidCode* find_xid(int code) {
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const XidCode& one) { return one.code == code; });
  return found == codes.end() ? nullptr : found;
}

}  // namespace claimcheck::importing
