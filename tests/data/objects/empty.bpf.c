// SPDX-License-Identifier: GPL-2.0
/* An object without a program. */
char _license[] __attribute__((section("license"), used)) = "GPL";
