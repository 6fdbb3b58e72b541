// SPDX-License-Identifier: GPL-2.0-or-later
/* Domain names that nobody registered. How long they are and how they end is as among the first 387 names of the top domains that OpenDNS published
 * (github.com/opendns/public-domain-lists, opendns-top-domains.txt of commit 03a9a83f813d): 7.9 letters and an ending of 4. How they begin comes of
 * syllables of which the first are taken more often than the last, so that neighbours in order share 2.1 letters, where there they share 2.4.
 */
#include <string.h>

#include "sets.h"

#define LONGEST_NAME 40

/* Names there whose part before the ending has so many letters, from 1 on. */
static const u16 lengths[] = { 2, 2, 10, 24, 52, 72, 47, 36, 43, 18, 23, 17, 13, 9, 4, 7, 5, 2, 0, 0, 0, 1 };

static const struct {
	const char *text;
	u16 names;
} endings[] = {
	{ ".com", 295 }, { ".net", 55 }, { ".org", 8 }, { ".us", 4 }, { ".co.uk", 3 }, { ".ru", 2 }, { ".de", 2 }, { ".it", 2 },
	{ ".tv", 1 }, { ".com.tr", 1 }, { ".ly", 1 }, { ".co", 1 }, { ".fi", 1 }, { ".co.in", 1 }, { ".gl", 1 }, { ".io", 1 },
	{ ".com.vn", 1 }, { ".ms", 1 }, { ".pl", 1 }, { ".com.br", 1 }, { ".ca", 1 }, { ".be", 1 }, { ".mobi", 1 }, { ".in", 1 },
};

static const char *const syllables[] = {
	"ad", "go", "me", "in", "ti", "s", "mo", "ma", "re", "an", "co", "cr", "ta", "li", "on", "e", "ba", "st", "ya", "wi", "dr", "pi",
	"er", "to", "vi", "la", "net", "be", "ic", "up", "fa", "no", "pr", "du", "key", "web", "su", "ge", "or", "he", "ka", "lo", "sp",
	"we", "tr", "ni", "al", "ro", "da", "bu", "cl", "fo", "q", "hu", "pa", "oo", "zi", "ju", "x", "360",
};

static u64 state;

/* splitmix64, Steele, Lea and Flood, OOPSLA 2014 */
static u32 below(u32 bound)
{
	u64 z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (u32)(z ^ (z >> 31)) % bound;
}

static u32 drawn_length(void)
{
	u32 place = below(387), length = 0;

	while (place >= lengths[length])
		place -= lengths[length++];
	return length + 1;
}

static const char *drawn_ending(void)
{
	u32 place = below(387), ending = 0;

	while (place >= endings[ending].names)
		place -= endings[ending++].names;
	return endings[ending].text;
}

/* The least of three drawn numbers, so that the first syllables come most often. */
static const char *drawn_syllable(void)
{
	u32 count = sizeof(syllables) / sizeof(*syllables), least = count;

	for (int i = 0; i < 3; i++) {
		u32 drawn = below(count);

		least = drawn < least ? drawn : least;
	}
	return syllables[least];
}

char *made_domains(u32 count)
{
	char *text = memory_for((size_t)count * LONGEST_NAME + 1), *end = text;

	state = 1;
	while (count--) {
		char *name = end, *stop = name + drawn_length();
		const char *ending = drawn_ending();

		while (end < stop)
			for (const char *letter = drawn_syllable(); *letter && end < stop; letter++)
				*end++ = *letter;
		end = stpcpy(end, ending);
		*end++ = '\n';
	}
	return text;
}
