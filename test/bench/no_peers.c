/*
 * no_peers.c
 *	  Defines the peers of a machine without CGAL: none.
 */
#include "peers.h"

const peer peers[] = {
	{NULL, NULL},
};
