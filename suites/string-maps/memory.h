/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a map takes. */
#ifndef MEMORY_H
#define MEMORY_H

#include "kernel.h"

/* Bytes as the kernel says them in the map's fdinfo; 0 where it says none. */
u64 said_memory(int map);

/* Begins a memory control group of this process's own, where there can be one; all maps that are made in it are of it. */
void enter_group(void);
/* Bytes of the kernel that the group holds; 0 where there is none. */
u64 group_memory(void);
void leave_group(void);

/* Bytes that are free. */
u64 available_memory(void);

#endif
