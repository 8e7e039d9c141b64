#include "parallel/launch/addresses.h"

#include <array>
#include <cerrno>

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/unique_handle.h"

namespace wam {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

bool is_usable(const ifaddrs& entry, int family) {
  if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != family) return false;
  if ((entry.ifa_flags & IFF_UP) == 0 || (entry.ifa_flags & IFF_LOOPBACK) != 0) return false;
  if (family != AF_INET6) return true;
  const auto* address = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
  return !IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr);
}

void add_addresses(const ifaddrs* list, int family, std::vector<std::string>& out) {
  const auto length =
      static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    std::array<char, NI_MAXHOST> text{};
    if (is_usable(*entry, family) && ::getnameinfo(entry->ifa_addr, length, text.data(),
                                                   text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      out.emplace_back(text.data());
    }
  }
}

bool connects(const addrinfo& target, std::chrono::milliseconds limit) {
  const int socket = ::socket(target.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  bool connected = ::connect(socket, target.ai_addr, target.ai_addrlen) == 0;
  if (!connected && errno == EINPROGRESS) {
    pollfd wait{.fd = socket, .events = POLLOUT, .revents = 0};
    int error = 0;
    socklen_t length = sizeof(error);
    connected = ::poll(&wait, 1, static_cast<int>(limit.count())) == 1 &&
                ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
  }
  ::close(socket);
  return connected;
}

}  // namespace

std::vector<std::string> own_addresses() {
  std::vector<std::string> out;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) == 0) {
    const UniqueHandle<ifaddrs*, &::freeifaddrs> owner(list);
    add_addresses(list, AF_INET, out);
    add_addresses(list, AF_INET6, out);
  }
  out.emplace_back(kLoopback);
  return out;
}

bool accepts_connections(const std::string& host, int port, std::chrono::milliseconds limit) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) return false;
  const UniqueHandle<addrinfo*, &::freeaddrinfo> owner(list);
  for (const addrinfo* target = list; target != nullptr; target = target->ai_next) {
    if (connects(*target, limit)) return true;
  }
  return false;
}

}  // namespace wam
