/* The end of what a failing program printed; and the same bytes as a file of rules. */
#include "fuzz.h"

#include <string.h>

#include "trial/rules.h"

static bl_rules *rules;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!rules && bl_rules_new(true, &rules, NULL) != BL_OK)
        abort();
    bl_rule_match match;
    FUZZ_CHECK(bl_rules_match(rules, (const char *)data, size, &match, NULL) == BL_OK);
    FUZZ_CHECK((match.message == BL_MESSAGE_NONE) == (match.source == NULL));
    FUZZ_CHECK(strlen(match.line) < sizeof match.line && !strchr(match.line, '\n'));
    char *text = malloc(size + 1);
    bl_rules *own;
    if (!text || bl_rules_new(false, &own, NULL) != BL_OK)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    bl_error err = {0};
    int code = bl_rules_add_text(own, text, "file", &err);
    FUZZ_CHECK(code == BL_OK || code == BL_ERR_USAGE || code == BL_ERR_NOMEM);
    FUZZ_CHECK((code == BL_OK) == (err.message[0] == '\0'));
    bl_rules_free(own);
    free(text);
    return 0;
}
