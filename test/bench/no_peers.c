/*
 * no_peers.c
 *	  The peers of a machine without CGAL: none.
 */
#include "peers.h"

const peer peers[] = {
	{NULL, NULL},
};
