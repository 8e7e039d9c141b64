#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace wam {

// This host's addresses as others may reach it: IPv4, then IPv6 without link-local ones, each of an
// interface that is up; the loopback address last, for ranks of the same host.
std::vector<std::string> own_addresses();

// Whether something accepts TCP connections at host (a name or an address) and port.
// Waits at most `limit` for each address that the name stands for.
bool accepts_connections(const std::string& host, int port, std::chrono::milliseconds limit);

}  // namespace wam
