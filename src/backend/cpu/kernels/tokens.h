/* Images as rows of patches, patches as tokens; all plain. */
#ifndef BL_BACKEND_CPU_KERNELS_TOKENS_H
#define BL_BACKEND_CPU_KERNELS_TOKENS_H

#include "backend/cpu/kernels/common.h"

/* x (n, c, h, w), squares of k x k -> patches (n, (h / k) (w / k), c k k), each patch as a filter (c, k, k) lies. */
void bl_k_patches_forward(int n, int c, int h, int w, int k, const float *x, float *patches);
void bl_k_patches_grad(int n, int c, int h, int w, int k, const float *dpatches, float *dx);

/* patches (n, t - 1, c), class_token (c), position (t, c) -> tokens (n, t, c): the class token first; the position is
 * added to every token. */
void bl_k_tokens_forward(int n, int t, int c, const float *patches, const float *class_token, const float *position,
                         float *tokens);
/* dclass (c) and dposition (t, c) are summed over the images. dpatches may be NULL. */
void bl_k_tokens_grad(int n, int t, int c, const float *dtokens, float *dpatches, float *dclass, float *dposition);

#endif
