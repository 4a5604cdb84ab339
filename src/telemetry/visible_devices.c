#include "telemetry/visible_devices.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "telemetry/procfs_text.h"

static bool alike(const bl_known_device *devices, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(devices[i].name, devices[0].name) != 0)
            return false;
    return true;
}

/* The device that an entry names; n: none. *by_number: it was a number. A part of a device ("MIG-...") is of a device
 * that cannot be told from it. */
static size_t find(const char *entry, const bl_known_device *devices, size_t n, bool *by_number)
{
    int64_t number;
    const char *at = entry;
    *by_number = bl_text_take_i64(&at, &number) && *at == '\0';
    if (*by_number)
        return number >= 0 && (uint64_t)number < n ? (size_t)number : n;
    size_t length = strlen(entry), found = n;
    for (size_t i = 0; i < n && length > 4; i++)
        if (strncmp(devices[i].uuid, entry, length) == 0) {
            if (found < n)
                return n; /* the beginning of two: CUDA takes neither */
            found = i;
        }
    return found;
}

static void mark_all(bl_known_device *devices, size_t n, bool visible)
{
    for (size_t i = 0; i < n; i++)
        devices[i].visible = visible;
}

const char *bl_visible_devices(const char *list, const char *order, bl_known_device *devices, size_t n)
{
    mark_all(devices, n, !list);
    bool ordered = (order && strcmp(order, "PCI_BUS_ID") == 0) || alike(devices, n);
    for (const char *at = list; at && *at;) {
        char entry[128];
        size_t length = strcspn(at, ",");
        const char *from = at + strspn(at, " \t");
        size_t cut = from < at + length ? (size_t)(at + length - from) : 0;
        while (cut > 0 && (from[cut - 1] == ' ' || from[cut - 1] == '\t'))
            cut--;
        snprintf(entry, sizeof entry, "%.*s", (int)(cut < sizeof entry ? cut : sizeof entry - 1), from);
        at += length + (at[length] == ',');
        if (strncmp(entry, "MIG-", 4) == 0) {
            mark_all(devices, n, true);
            return "a part of a device (MIG) was asked for: all devices are shown, each as a whole";
        }
        bool by_number;
        size_t found = find(entry, devices, n, &by_number);
        if (found == n)
            break;
        if (by_number && !ordered) {
            mark_all(devices, n, true);
            return "devices of different kinds are numbered by their speed: all are shown; "
                   "CUDA_DEVICE_ORDER=PCI_BUS_ID lets numbers be told";
        }
        devices[found].visible = true;
    }
    return NULL;
}
