#include "report/gnuplot.h"

#include <math.h>
#include <string.h>

#include "report/format.h"

static const char *const colors[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7"};

/* In single quotes nothing is special to gnuplot but these themselves, which are doubled. */
static void quote(bl_str *out, const char *text, size_t width)
{
    bl_str clean;
    bl_str_init(&clean);
    bl_format_clean(text, width, &clean);
    bl_str_append_c(out, '\'');
    for (const char *c = bl_str_text(&clean); *c; c++)
        bl_str_append(out, *c == '\'' ? "''" : (char[]){*c, '\0'});
    bl_str_append_c(out, '\'');
    out->failed = out->failed || clean.failed;
    bl_str_clear(&clean);
}

static void set_text(bl_str *out, const char *what, const char *text)
{
    bl_str_printf(out, "set %s ", what);
    quote(out, text, 100);
    bl_str_append(out, " noenhanced\n");
}

static void number(bl_str *out, double value)
{
    if (isfinite(value))
        bl_str_printf(out, " %.9g", value);
    else
        bl_str_append(out, " NaN");
}

static void data(bl_str *out, const bl_chart *chart)
{
    for (size_t s = 0; s < chart->n_series; s++) {
        const bl_chart_series *series = &chart->series[s];
        bl_str_printf(out, "$s%zu << EOD\n", s);
        for (size_t i = 0; i < series->n; i++) {
            number(out, series->x[i]);
            number(out, series->y[i]);
            number(out, series->low ? series->low[i] : NAN);
            number(out, series->high ? series->high[i] : NAN);
            bl_str_printf(out, " %d\n", series->special && series->special[i]);
        }
        bl_str_append(out, "EOD\n");
    }
}

/* The powers of two alone, where there are two of them to see; the axis is logarithmic where it is wide. */
static void batch_axis(bl_str *out, const bl_chart *chart)
{
    double low = INFINITY, high = -INFINITY, first;
    for (size_t s = 0; s < chart->n_series; s++)
        for (size_t i = 0; i < chart->series[s].n; i++) {
            low = fmin(low, chart->series[s].x[i]);
            high = fmax(high, chart->series[s].x[i]);
        }
    first = exp2(ceil(log2(fmax(low, 1))));
    if (!chart->batch_axis || !(high > 0))
        return;
    if (low > 0 && high > 4 * low)
        bl_str_append(out, "set logscale x 2\n");
    if (2 * first > high)
        return;
    bl_str_append(out, "set xtics (");
    for (double p = first; p <= high; p *= 2)
        bl_str_printf(out, "%s%.0f", p > first ? ", " : "", p);
    bl_str_append(out, ")\n");
}

static void frame(bl_str *out, const bl_chart *chart)
{
    if (chart->rows) {
        bl_str_append(out, "set ytics (");
        for (size_t i = 0; i < chart->n_rows; i++) {
            bl_str_append(out, i ? ", " : "");
            quote(out, chart->rows[i], 60);
            bl_str_printf(out, " %zu", i);
        }
        bl_str_printf(out, ") noenhanced\nset yrange [%.1f:-0.5]\n", (double)chart->n_rows - 0.5);
    } else if (chart->from_zero) {
        bl_str_append(out, "set yrange [0:*]\n");
    }
    if (isfinite(chart->band) && chart->rows)
        bl_str_printf(out,
                      "set object 1 rectangle from first %.9g, graph 0 to first %.9g, graph 1 behind fc rgb "
                      "'#e6e6e6' fs solid noborder\n",
                      -chart->band, chart->band);
    else if (isfinite(chart->band))
        bl_str_printf(out,
                      "set object 1 rectangle from graph 0, first %.9g to graph 1, first %.9g behind fc rgb '#e6e6e6' "
                      "fs solid noborder\n",
                      -chart->band, chart->band);
}

/* Behind everything; 2: an object of its own beside the band. */
static void shade(bl_str *out, const bl_chart *chart)
{
    if (chart->shade_to > 0)
        bl_str_printf(out,
                      "set object 2 rectangle from graph 0, graph 0 to first %.9g, graph 1 behind fc rgb '#e6e6e6' fs "
                      "solid noborder\n",
                      chart->shade_to);
}

static void plots(bl_str *out, const bl_chart *chart)
{
    bl_str_append(out, "plot");
    for (size_t s = 0; s < chart->n_series; s++) {
        const bl_chart_series *series = &chart->series[s];
        const char *color = colors[series->color % BL_ARRAY_LEN(colors)];
        size_t dash = series->color / BL_ARRAY_LEN(colors) + 1;
        bl_str_append(out, s ? ", \\\n" : " ");
        if (series->line) {
            bl_str_printf(out, "$s%zu using 1:2 with lines lw 1.5 dt %zu lc rgb '%s'", s, dash, color);
        } else {
            if (series->low)
                bl_str_printf(out, "$s%zu using 1:2:3:4 with %s lw 1.5 dt %zu pt 0 lc rgb '%s' notitle, \\\n", s,
                              chart->rows ? "xerrorbars" : "yerrorbars", dash, color);
            bl_str_printf(out, "$s%zu using 1:($5 > 0 ? $2 : NaN) with points pt 13 ps 1.6 lc rgb '%s' notitle, \\\n",
                          s, color);
            bl_str_printf(out, "$s%zu using 1:($5 > 0 ? NaN : $2) with points pt 7 ps %s lc rgb '%s'", s,
                          series->n > 200 ? "0.5" : "1", color);
        }
        if (series->name[0]) {
            bl_str_append(out, " title ");
            quote(out, series->name, 60);
            bl_str_append(out, " noenhanced");
        } else {
            bl_str_append(out, " notitle");
        }
    }
    bl_str_append_c(out, '\n');
}

void bl_gnuplot_chart(const bl_chart *chart, bool pdf, bl_str *out)
{
    size_t height = chart->rows ? 150 + 30 * chart->n_rows : 520;
    bl_str_append(out, "set encoding utf8\n");
    if (pdf)
        bl_str_printf(out, "set terminal pdfcairo noenhanced size 7.5in,%.2fin background rgb 'white'\n",
                      (double)height / 144);
    else
        bl_str_printf(out, "set terminal pngcairo noenhanced size 1080,%zu background rgb 'white'\n", height);
    set_text(out, "title", chart->title);
    set_text(out, "xlabel", chart->x_label);
    set_text(out, "ylabel", chart->y_label);
    bl_str_append(out, "set grid lc rgb '#d5d5d5' lt 1\nset key top right\n");
    batch_axis(out, chart);
    frame(out, chart);
    shade(out, chart);
    data(out, chart);
    plots(out, chart);
}
