#include "testing/accelerator/control.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using backend::Code;
using backend::Status;

constexpr std::string_view kWorks[] = {"allocate", "compile", "copy", "launch"};
constexpr std::string_view kTimes[] = {"at_once", "at_start", "at_end"};
constexpr std::pair<std::string_view, Code> kCodes[] = {
    {"ABORTED", Code::kAborted},         {"DATA_LOSS", Code::kDataLoss},
    {"INTERNAL", Code::kInternal},       {"RESOURCE_EXHAUSTED", Code::kResourceExhausted},
    {"UNAVAILABLE", Code::kUnavailable},
};

// Where `word` stands in a list of names.
template <typename List>
std::optional<size_t> Find(const List& list, std::string_view word) {
  const auto at = std::ranges::find(list, word);
  if (at == std::end(list)) return std::nullopt;
  return size_t(at - std::begin(list));
}

bool ReadNumber(std::string_view word, int64_t least, int64_t* number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return error == std::errc() && end == word.data() + word.size() && *number >= least;
}

// The optional words of a fault.
bool ReadHow(std::istringstream& words, Fault* fault) {
  std::string word;
  while (words >> word) {
    int64_t device = 0;
    const auto code =
        std::ranges::find_if(kCodes, [&](const auto& one) { return one.first == word; });
    if (word == "on" && words >> word && ReadNumber(word, 0, &device)) {
      fault->device = int(device);
    } else if (word == "lost") {
      fault->device_lost = true;
    } else if (const auto when = Find(kTimes, word)) {
      fault->when = When(*when);
    } else if (code != std::end(kCodes)) {
      fault->code = code->second;
    } else {
      return false;
    }
  }
  return true;
}

std::optional<Fault> ReadFault(const std::string& text) {
  std::istringstream words(text);
  std::string work, nth;
  Fault fault;
  if (!(words >> work >> nth) || !ReadNumber(nth, 1, &fault.nth)) return std::nullopt;
  const auto kind = Find(kWorks, work);
  if (!kind.has_value() || !ReadHow(words, &fault)) return std::nullopt;
  fault.work = Work(*kind);
  return fault;
}

}  // namespace

backend::Result<std::vector<Fault>> ReadFaults(std::string_view text) {
  std::vector<Fault> faults;
  std::istringstream list{std::string(text)};
  for (std::string one; std::getline(list, one, ',');) {
    const std::optional<Fault> fault = ReadFault(one);
    if (!fault.has_value()) {
      return backend::InvalidArgument(
          "a fault is '" + one +
          "'; write for example: launch 2 DATA_LOSS, copy 1 on 3 at_end ABORTED, launch 4 lost");
    }
    faults.push_back(*fault);
  }
  return faults;
}

std::vector<Record> Control::Log() const {
  std::lock_guard lock(mutex_);
  return log_;
}

int64_t Control::Count(Work work) const {
  std::lock_guard lock(mutex_);
  return std::ranges::count(log_, work, &Record::work);
}

std::string Control::Complaints() const {
  std::lock_guard lock(mutex_);
  return complaints_;
}

void Control::Complain(std::string what) {
  std::lock_guard lock(mutex_);
  complaints_ += what + "\n";
}

Status Control::CheckLost(int device) const {
  if (!lost_.contains(device)) return Status();
  return Status(Code::kUnavailable,
                "device " + std::to_string(device) + " is lost: restart the process");
}

Status Control::Fail(const Verdict& verdict, When now) {
  if (verdict.status.ok() || verdict.when != now) return CheckLost(verdict.record.device);
  if (verdict.device_lost) lost_.insert(verdict.record.device);
  return verdict.status;
}

Verdict Control::Ask(Work work, int device) {
  std::lock_guard lock(mutex_);
  auto last = std::ranges::find_if(
      asked_, [&](const Record& one) { return one.work == work && one.device == device; });
  if (last == asked_.end()) last = asked_.insert(last, {work, device, 0});
  ++last->number;
  Verdict verdict{*last, When::kAtOnce, CheckLost(device)};
  for (size_t i = 0; i < settings_.faults.size(); ++i) {
    const Fault& fault = settings_.faults[i];
    if (fault.work != work || (fault.device != Fault::kAny && fault.device != device)) continue;
    if (++seen_[i] != fault.nth || !verdict.status.ok()) continue;
    const bool at_once = work == Work::kAllocate || work == Work::kCompile;
    verdict.when = at_once ? When::kAtOnce : fault.when;
    verdict.device_lost = fault.device_lost;
    verdict.status = Status(
        fault.device_lost ? Code::kUnavailable : fault.code,
        "injected fault: " + std::string(kWorks[size_t(work)]) + " " + std::to_string(fault.nth) +
            (device == Fault::kAny ? "" : " on device " + std::to_string(device)) +
            (fault.device_lost ? ", which is lost by it" : ""));
    (void)Fail(verdict, When::kAtOnce);
  }
  return verdict;
}

Status Control::Start(const Verdict& verdict) {
  {
    std::lock_guard lock(mutex_);
    log_.push_back(verdict.record);
    PJRT_PLUGIN_RETURN_IF_ERROR(Fail(verdict, When::kAtStart));
  }
  return settings_.on_start == nullptr ? Status() : settings_.on_start(verdict.record);
}

Status Control::End(const Verdict& verdict) {
  std::lock_guard lock(mutex_);
  return Fail(verdict, When::kAtEnd);
}

}  // namespace PJRT_PLUGIN_NS::accelerator
