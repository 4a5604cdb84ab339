/* Command templates: "{batch}" in an argument stands for the case's value of factor batch. "{{" and "}}" stand for
 * single braces. A lone "{" that opens no name ("{" at the end, "{}", "{ x", "{\"a\":1}") is an error that says how to
 * write it; a lone "}" stays as it is. "{outdir}" stands for factors->outdir in any command, and no factor is called
 * so. */
#ifndef BL_PLAN_TEMPLATE_H
#define BL_PLAN_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"
#include "plan/factors.h"

/* Appends `text` with its placeholders filled to out. BL_ERR_USAGE: unknown name (the known ones are named), or a
 * malformed brace. */
int bl_template_expand(const char *text, const bl_factors *factors, size_t c, bl_str *out, bl_error *err);

/* Checks a whole command before anything runs: every placeholder is known, and every factor is used, since a factor
 * that never reaches the program would be swept in vain. It may reach it by way of `before`, a command that is run
 * before each trial (NULL: there is none), such as one that writes the program's configuration. batch_from_env says
 * that the program reads its batch size from the environment (BATCHLAB_BATCH) and needs no {batch}. */
int bl_template_check(char *const *argv, size_t argc, const char *before, const bl_factors *factors,
                      bool batch_from_env, bl_error *err);

/* The argv of case c: one element for each template; `out` is initialised here. No shell sees it. */
int bl_template_argv(char *const *argv, size_t argc, const bl_factors *factors, size_t c, bl_strv *out, bl_error *err);

/* Shell mode: the templates are joined by single blanks and become {"/bin/sh", "-c", TEXT}. The text belongs to the
 * shell: quotes, pipes and variables in it work. Each value put in is quoted for the shell where it holds anything but
 * letters, digits and @%+=:,./_- so that a value can never become a command; placeholders therefore must not stand
 * inside quotes of the template. "{{" and "}}" are braces here as well: "${{HOME}}". */
int bl_template_shell_argv(char *const *argv, size_t argc, const bl_factors *factors, size_t c, bl_strv *out,
                           bl_error *err);

/* Whether {outdir} stands in it. */
bool bl_template_uses_outdir(const char *text);

/* An expression for samples a run (--samples): a template that must expand to a positive number. A product such as
 * "{batch}*100" is allowed: numbers joined by '*'. */
int bl_template_number(const char *text, const bl_factors *factors, size_t c, double *out, bl_error *err);

#endif
