// nvidia-smi: whatever of its outputs a file holds, told apart line by line: -q, -q -x, the table, -L, nvlink, topo -m,
// topo -p2p, and the CSV of --query-gpu.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/smi_gpus.h"
#include "harness/import/smi_links.h"
#include "harness/import/smi_log.h"
#include "harness/import/smi_table.h"
#include "harness/import/smi_topology.h"
#include "harness/import/smi_xml.h"

namespace claimcheck::importing {
namespace {

std::vector<std::string_view> split_csv(std::string_view text) {
  std::vector<std::string_view> cells;
  while (cells.size() < 1024) {
    const std::size_t comma = text.find(',');
    cells.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    text.remove_prefix(comma + 1);
  }
  return cells;
}

// Rows of --query-gpu, under a header that names the columns, with units in brackets.
class SmiCsv {
 public:
  explicit SmiCsv(SmiGpus& gpus) : gpus_(gpus) {}

  bool line(std::string_view text) {
    if (!contains(text, ",")) return false;
    const auto cells = split_csv(text);
    if (header(cells)) return true;
    if (columns_.empty()) return bare_row(cells);
    if (cells.size() < 2 || cells.size() > columns_.size()) return false;
    short_ = short_ || cells.size() < columns_.size();
    row(cells);
    return true;
  }
  bool cut() const { return short_; }
  bool without_header() const { return bare_; }

 private:
  bool header(const std::vector<std::string_view>& cells) {
    std::size_t known = 0;
    std::vector<std::string> names;
    for (const std::string_view cell : cells) {
      names.push_back(lower(trimmed(cell.substr(0, cell.find('[')))));
      if (find_smi_key(SmiOutput::csv, names.back()) != nullptr) ++known;
    }
    // A row of values never looks like names of columns: "name" and "index" are no values.
    if (known == 0 || cells.size() < 2 || (known < 2 && names.front() != "timestamp")) return false;
    columns_ = names;
    gpus_.begin_document();
    return true;
  }

  // Of "csv,noheader": a name, a UUID and a PCI address tell themselves; which memory or load a number is, nobody can
  // say.
  bool bare_row(const std::vector<std::string_view>& cells) {
    std::string_view name, uuid, bus;
    for (const std::string_view cell : cells) {
      if (cell.starts_with("GPU-") && cell.size() >= 40) uuid = cell;
      if (bus_id(cell) && std::count(cell.begin(), cell.end(), ':') == 2) bus = cell;
      for (const std::string_view maker : {"NVIDIA ", "Tesla ", "GeForce ", "Quadro "})
        if (cell.starts_with(maker)) name = cell;
    }
    const bool measured = std::any_of(cells.begin(), cells.end(), [](std::string_view cell) {
      return cell.ends_with(" MiB") || cell.ends_with(" %") || cell.ends_with(" W") || cell.ends_with(" MHz");
    });
    if (cells.size() < 2 || name.empty() || (uuid.empty() && bus.empty() && !measured)) return false;
    if (!bare_) gpus_.begin_document();
    bare_ = true;
    SmiGpu& gpu = gpus_.begin();
    gpu.take(SmiOutput::csv, "name", name);
    if (!uuid.empty()) gpu.take(SmiOutput::csv, "uuid", uuid);
    if (!bus.empty()) gpu.take(SmiOutput::csv, "pci.bus_id", bus);
    return true;
  }

  void row(const std::vector<std::string_view>& cells) {
    SmiGpu& gpu = gpus_.begin();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (columns_[i] == "driver_version" || columns_[i] == "kmd_version") gpus_.driver(cells[i]);
      if (columns_[i] == "count") gpus_.attached(cells[i]);
      gpu.take(SmiOutput::csv, columns_[i], cells[i]);
    }
  }

  SmiGpus& gpus_;
  std::vector<std::string> columns_;
  bool short_ = false;
  bool bare_ = false;
};

class NvidiaSmi : public Reader {
 public:
  explicit NvidiaSmi(Collected& collected)
      : collected_(collected),
        gpus_(collected),
        log_(gpus_),
        table_(gpus_),
        links_(collected, gpus_),
        topology_(collected, gpus_),
        csv_(gpus_) {
    xml_.gpu = [this](std::string_view id) {
      if (xml_gpus_++ == 0) xml_begin();
      xml_gpu_ = &gpus_.begin();
      xml_gpu_->take(SmiOutput::csv, "pci.bus_id", id);
    };
    xml_.value = [this](std::string_view place, std::string_view value) { xml_value(place, value); };
  }

  bool line(const Line& line) override {
    const std::string_view text = line.text;
    const bool was_inside = xml_.inside();
    if (xml_.line(text, line.number)) {
      if (was_inside && !xml_.inside()) xml_gpus_ = 0, xml_begun_ = false;
      return true;
    }
    if (said_none(text) || topology_.line(text) || links_.line(text) || table_.line(text) || log_.line(text))
      return true;
    if (csv_.line(text)) return true;
    return about_itself(text);
  }

  void end(bool whole) override {
    if (xml_.inside())
      collected_.partial(fmt::format("the XML ends inside <{}>, which begins at line {}: what stands before counts",
                                     xml_.innermost(), xml_.innermost_line()));
    else if (!whole)
      collected_.partial("the last line has no end: the file may be cut short");
    if (csv_.without_header())
      collected_.note(
          "rows of a CSV without its header: names, UUIDs and PCI addresses are taken, other columns cannot be known; "
          "ask for csv, not csv,noheader");
    if (csv_.cut()) collected_.partial("a row of the CSV has fewer cells than its header");
    links_.end();
    topology_.end();
    gpus_.publish();
  }

 private:
  void xml_begin() {
    if (!xml_begun_) gpus_.begin_document();
    xml_begun_ = true;
  }

  void xml_value(std::string_view place, std::string_view value) {
    if (xml_.in_gpu()) {
      if (xml_gpu_ != nullptr) xml_gpu_->take(SmiOutput::xml, place, value);
      return;
    }
    xml_begin();
    if (place == "driver_version" || place == "kmd_version") gpus_.driver(value);
    if (place == "cuda_version" || place == "cuda_umd_version") gpus_.cuda(value);
    if (place == "attached_gpus") gpus_.attached(value);
  }

  // In place of any output, on stdout: also where XML was asked for.
  bool said_none(std::string_view text) {
    const std::string_view rest = trimmed(text);
    if (rest.starts_with("No devices were found")) {
      gpus_.none(rest);
      return true;
    }
    if (contains(rest, "NVIDIA-SMI has failed") || rest.starts_with("Failed to initialize NVML")) {
      collected_.add(Finding{
          .id = "smi.no_driver",
          .severity = "error",
          .text = fmt::format("nvidia-smi reaches no driver (\"{}\").", rest.substr(0, 200)),
          .next_step = contains(rest, "mismatch")
                           ? "The driver was updated without a reboot: reboot, or reload the nvidia modules."
                           : "Load or install the driver (lsmod | grep nvidia, dkms status); in a container start it "
                             "with the GPUs.",
          .evidence = {{"said", rest.substr(0, 200)}}});
      return true;
    }
    if (contains(rest, "Unable to determine the device handle for")) {
      lost(rest);
      return true;
    }
    return false;
  }

  // "Unable to determine the device handle for GPU0000:B3:00.0: Unknown Error", newer: "GPU3: 0000:B3:00.0: ..."
  void lost(std::string_view text) {
    std::string_view rest = *after(text, "handle for");
    if (rest.starts_with("gpu ") || rest.starts_with("GPU ")) rest = trimmed(rest.substr(4));
    if (rest.starts_with("GPU")) rest.remove_prefix(3);
    const std::size_t blank = rest.find(": ");
    const std::string_view said =
        blank == std::string_view::npos ? std::string_view("Unknown Error") : trimmed(rest.substr(blank + 2));
    const std::string id = bus_id(rest).value_or(std::string(rest.substr(0, blank)));
    collected_.add(
        Finding{.id = "smi.gpu_lost",
                .severity = "error",
                .text = fmt::format("nvidia-smi does not reach the GPU at {} (\"{}\"): it is lost.", id, said),
                .next_step = "dmesg | grep -i xid (79: fallen off the bus); power-cycle the machine, else return it.",
                .evidence = {{"pci_bus_id", id}, {"said", said}}});
  }

  // The command, and the date above the table: "Tue Jul 14 09:00:26 2026".
  static bool about_itself(std::string_view text) {
    if (contains(text, "nvidia-smi") && (contains(text, "$ nvidia-smi") || text.starts_with("### "))) return true;
    const Fields words(text);
    constexpr std::array<std::string_view, 7> days = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    return words.size() == 5 && std::find(days.begin(), days.end(), words[0]) != days.end() && contains(words[3], ":");
  }

  Collected& collected_;
  SmiGpus gpus_;
  SmiLog log_;
  SmiTable table_;
  SmiLinks links_;
  SmiTopology topology_;
  SmiCsv csv_;
  SmiXml xml_;
  SmiGpu* xml_gpu_ = nullptr;
  int xml_gpus_ = 0;
  bool xml_begun_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_nvidia_smi(Collected& collected) { return std::make_unique<NvidiaSmi>(collected); }

}  // namespace claimcheck::importing
