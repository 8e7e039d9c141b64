#pragma once

#include <string>

#include "core/train/stop_signal.h"

namespace wam {

// Whether the run stops before its end. All ranks must stop at the same place, though a request
// reaches one of them first.
class StopAgreement {
 public:
  StopAgreement() = default;
  StopAgreement(const StopAgreement&) = delete;
  StopAgreement& operator=(const StopAgreement&) = delete;
  StopAgreement(StopAgreement&&) = delete;
  StopAgreement& operator=(StopAgreement&&) = delete;
  virtual ~StopAgreement() = default;

  // Every rank asks at the same places of the program, in the same order: the nth call answers
  // alike on all of them. Once true it stays true. Threads: one. Errors: CommError when the ranks
  // cannot agree any more.
  virtual bool agreed() = 0;
  // After a wait for the device, before its numbers are used: collectives that were aborted end
  // without a result. Errors: CommError when the run cannot go on.
  virtual void check() = 0;
  // "SIGTERM received"; call after `agreed` was true.
  [[nodiscard]] virtual std::string reason() const = 0;
};

// One rank: its own signal decides.
class LocalStop final : public StopAgreement {
 public:
  explicit LocalStop(const StopSignal& signal) : signal_(signal) {}
  bool agreed() override { return signal_.requested(); }
  void check() override {}
  [[nodiscard]] std::string reason() const override {
    return std::string(signal_.name()) + " received";
  }

 private:
  const StopSignal& signal_;
};

}  // namespace wam
