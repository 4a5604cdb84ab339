/* The page's script, made at build time by tools/page-script. Where uPlot was not there, all of these are "". */
#ifndef BL_REPORT_PAGE_SCRIPT_H
#define BL_REPORT_PAGE_SCRIPT_H

extern const char bl_page_script[];       /* uPlot with its licence, and web/page.js */
extern const char bl_page_script_style[]; /* CSS */
extern const char bl_page_script_hash[];  /* "sha256-...", as a content security policy names it */

#endif
