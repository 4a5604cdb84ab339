/* How noisy the gradient is at the present weights: squared norms of gradients over few samples and over many, from
 * which base/gradient_noise.h has the noise scale. Training goes on afterwards as if nothing had been measured, bit for
 * bit. */
#ifndef BL_TRAIN_NOISE_H
#define BL_TRAIN_NOISE_H

#include "base/gradient_noise.h"
#include "train/trainer.h"

#define BL_NOISE_ROUNDS 8

typedef struct bl_noise_report {
    bl_gradient_norms plain[BL_NOISE_ROUNDS];
    /* The same through Adam's scaling, 1 / (sqrt(v) + eps); there where the optimizer has made a step with one. */
    bl_gradient_norms scaled[BL_NOISE_ROUNDS];
    bool has_scaled;
    bool per_sample;  /* the small gradients are single samples', by their exact norms */
    bool batch_norms; /* the network has batch normalisations, whose statistics were the micro-batches' */
    int micro;        /* samples a micro-batch */
} bl_noise_report;

/* options->noise_samples in all, in BL_NOISE_ROUNDS big gradients of micro-batches of options->noise_batch, drawn from
 * the training images in an order of their own and augmented as in training. Where all that is learnt are linear layers
 * on whole rows and the optimizer scales nothing, the samples' own norms are summed up from the layers' inputs and
 * output gradients, |x|^2 |d|^2 each (Goodfellow, "Efficient per-example gradient computations", arXiv:1510.01799).
 * The gradient is that of the loss: decay and clipping are left out. Needs memory for a micro-batch's activations.
 * BL_ERR_USAGE: micro-batches of one sample for a network with batch normalisation. stop: as for evaluating. */
int bl_noise_measure(bl_trainer *trainer, const volatile int *stop, bl_noise_report *out, bl_error *err);

#endif
