#include "test/dist/parallel/watch/two_hosts.h"

#include <cstdlib>

#include <unistd.h>

namespace wam::test {
namespace {

bool ip(const std::string& arguments) {
  const std::string command = std::string(WAM_IP) + " " + arguments + " >/dev/null 2>&1";
  return *WAM_IP != '\0' && std::system(command.c_str()) == 0;
}

}  // namespace

std::string TwoHosts::name(int host) const {
  return "wamtest" + std::to_string(::getpid()) + (host == 0 ? "a" : "b");
}

std::string TwoHosts::link(int host) const {
  return "wam" + std::to_string(::getpid()) + (host == 0 ? "a" : "b");
}

TwoHosts::TwoHosts() {
  exist_ = ip("netns add " + name(0)) && ip("netns add " + name(1)) &&
           ip("link add " + link(0) + " netns " + name(0) + " type veth peer name " + link(1) +
              " netns " + name(1));
  for (const int host : {0, 1}) {
    const std::string inside = "-n " + name(host) + " ";
    const std::string address = "10.77.0." + std::to_string(host + 1) + "/24";
    exist_ = exist_ && ip(inside + "addr add " + address + " dev " + link(host)) &&
             ip(inside + "link set lo up") && ip(inside + "link set " + link(host) + " up");
  }
}

TwoHosts::~TwoHosts() {
  for (const int host : {0, 1}) ip("netns del " + name(host));
}

std::vector<std::string> TwoHosts::on(int host, std::vector<std::string> words) const {
  std::vector<std::string> out{WAM_IP, "netns", "exec", name(host)};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

void TwoHosts::cut_link() const {
  ip("-n " + name(0) + " link set " + link(0) + " down");
}

}  // namespace wam::test
