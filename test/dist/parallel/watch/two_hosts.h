#pragma once

#include <string>
#include <vector>

namespace wam::test {

// Two network namespaces of this machine with a link between them: hosts, as far as sockets can
// tell. Needs the rights to make them.
class TwoHosts {
 public:
  TwoHosts();
  ~TwoHosts();
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;
  TwoHosts(TwoHosts&&) = delete;
  TwoHosts& operator=(TwoHosts&&) = delete;

  // False where they could not be made.
  [[nodiscard]] bool exist() const { return exist_; }
  [[nodiscard]] static std::string address_of_first() { return "10.77.0.1"; }
  // The words that start a program on host 0 or 1.
  [[nodiscard]] std::vector<std::string> on(int host, std::vector<std::string> words) const;
  void cut_link() const;

 private:
  [[nodiscard]] std::string name(int host) const;
  [[nodiscard]] std::string link(int host) const;

  bool exist_ = false;
};

}  // namespace wam::test
