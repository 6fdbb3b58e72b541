#!/bin/sh
# Makes the suite's own packets: a TCP SYN over IPv4 to port 80, and a UDP datagram over IPv6 to port 53.
set -eu
tcp_v4="
02000000000202000000000108004500002800004000400626ce0a0000010a00
00029c40005000000001000000005002faf0045e0000000000000000
"
udp_v6="
02000000000202000000000186dd6000000000141140fd000000000000000000
000000000001fd0000000000000000000000000000029c400035001442f7636c
69666677617463682e2e
"

write() {
  for byte in $(echo "$1" | tr -d '\n' | sed 's/../& /g'); do
    # The format is the byte, in octal.
    # shellcheck disable=SC2059
    printf "\\$(printf %03o "0x$byte")"
  done
}
write "$tcp_v4" > tcp-v4.data
write "$udp_v6" > udp-v6.data
