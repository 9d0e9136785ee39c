/*
 * tet.h
 *	  Defines what all meshes of tetrahedra have in common: special corners, and the numbering of
 *	  faces, for CPU and GPU alike.
 */
#ifndef RB_MESH_TET_H
#define RB_MESH_TET_H

#include "core/base/host_device.h"

#include <stdint.h>

#define RB_GHOST (UINT32_MAX - 1) /* the corner at infinity */
#define RB_DEAD UINT32_MAX        /* first corner of an unused slot */

/*
 * Corners of the face opposite corner i. With corner i in front they form a positive tetrahedron
 * (i, f0, f1, f2). They run clockwise seen from corner i and counterclockwise seen from outside.
 */
static const uint8_t rb_face_corners[4][3]
	__attribute__((unused)) = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

/* Returns rb_face_corners[i][k], on the device, too. */
RB_HOST_DEVICE uint32_t
rb_cell_face_corner(uint32_t i, uint32_t k)
{
	return 0x18342c39u >> (8 * i + 2 * k) & 3;
}

#endif /* RB_MESH_TET_H */
