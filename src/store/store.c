#include "store/store.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"
#include "store/internal.h"
#include "store/schema.h"

#define BUSY_MS 5000

int bl_store_error(const bl_store *store, int rc, const char *doing, bl_error *err)
{
    const char *path = store->path;
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return BL_FAIL(err, BL_ERR_NOMEM, "database '%s': no memory for %s", path, doing);
    case SQLITE_FULL:
        BL_FAIL(err, BL_ERR_IO, "database '%s': the disk is full, %s failed; what was stored before is safe", path,
                doing);
        bl_error_remedy(err, "free some space, or keep the database elsewhere with --db");
        break;
    case SQLITE_READONLY:
        BL_FAIL(err, BL_ERR_ENV, "database '%s' cannot be written: it, or its folder, is read-only", path);
        bl_error_remedy(err, "choose another place with --db FILE");
        break;
    case SQLITE_CANTOPEN:
        BL_FAIL(err, BL_ERR_ENV, "database '%s' cannot be opened: %s", path, strerror(errno ? errno : ENOENT));
        bl_error_remedy(err, "does its folder exist, and may you write there? choose another place with --db FILE");
        break;
    case SQLITE_NOTADB:
        BL_FAIL(err, BL_ERR_ENV, "'%s' is no SQLite database", path);
        bl_error_remedy(err, "name another file with --db FILE");
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        BL_FAIL(err, BL_ERR_BUSY, "database '%s' is locked by another process, %s failed", path, doing);
        bl_error_remedy(err, "wait until that has ended (fuser %s), or use another --db FILE", path);
        break;
    case SQLITE_CORRUPT:
        BL_FAIL(err, BL_ERR_IO, "database '%s' is damaged", path);
        bl_error_remedy(err, "sqlite3 %s .recover | sqlite3 recovered.db", path);
        break;
    default:
        BL_FAIL(err, BL_ERR_IO, "database '%s': %s failed: %s", path, doing,
                store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(rc));
        break;
    }
    return err ? (int)err->code : BL_ERR_IO;
}

sqlite3_stmt *bl_store_prepare(bl_store *store, const char *sql, const char *doing, bl_error *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        return statement;
    bl_store_error(store, rc, doing, err);
    return NULL;
}

int bl_store_run(bl_store *store, sqlite3_stmt *statement, const char *doing, bl_error *err)
{
    int rc = sqlite3_step(statement);
    int code = rc == SQLITE_DONE || rc == SQLITE_ROW ? BL_OK : bl_store_error(store, rc, doing, err);
    sqlite3_finalize(statement);
    return code;
}

int bl_store_exec(bl_store *store, const char *sql, const char *doing, bl_error *err)
{
    int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? BL_OK : bl_store_error(store, rc, doing, err);
}

static int begin(bl_store *store, const char *sql, const char *doing, bl_error *err)
{
    int code = store->depth == 0 ? bl_store_exec(store, sql, doing, err) : BL_OK;
    store->depth += code == BL_OK;
    return code;
}

int bl_store_begin_read(bl_store *store, const char *doing, bl_error *err)
{
    return begin(store, "BEGIN", doing, err);
}

int bl_store_begin_write(bl_store *store, const char *doing, bl_error *err)
{
    return begin(store, "BEGIN IMMEDIATE", doing, err);
}

int bl_store_finish_write(bl_store *store, int code, const char *doing, bl_error *err)
{
    if (--store->depth > 0)
        return code;
    if (code == BL_OK)
        code = bl_store_exec(store, "COMMIT", doing, err);
    if (code != BL_OK && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

/* Length of the valid UTF-8 sequence at `text`, 0 where it is none (RFC 3629). */
static size_t utf8_sequence(const unsigned char *text)
{
    if (text[0] < 0x80)
        return 1;
    size_t n = text[0] >= 0xC2 && text[0] <= 0xDF ? 2 : (text[0] & 0xF0) == 0xE0 ? 3 : 0;
    if (text[0] >= 0xF0 && text[0] <= 0xF4)
        n = 4;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xF0 && text[1] < 0x90);
    bool beyond = (text[0] == 0xED && text[1] > 0x9F) || (text[0] == 0xF4 && text[1] > 0x8F);
    return overlong || beyond ? 0 : n;
}

void bl_store_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    if (!text) {
        sqlite3_bind_null(statement, at);
        return;
    }
    bl_str clean;
    bl_str_init(&clean);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t n = utf8_sequence(c);
        bl_str_append_n(&clean, n ? (const char *)c : "?", n ? n : 1);
        c += n ? n : 1;
    }
    sqlite3_bind_text(statement, at, bl_str_text(&clean), (int)clean.len, SQLITE_TRANSIENT);
    bl_str_clear(&clean);
}

void bl_store_bind_real(sqlite3_stmt *statement, int at, double value)
{
    if (isfinite(value))
        sqlite3_bind_double(statement, at, value);
    else
        sqlite3_bind_null(statement, at);
}

int bl_store_pragma(bl_store *store, const char *sql, int64_t *out, bl_error *err)
{
    sqlite3_stmt *s = bl_store_prepare(store, sql, "reading its header", err);
    if (!s)
        return BL_ERR_IO;
    int rc = sqlite3_step(s);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? BL_OK : bl_store_error(store, rc, "reading its header", err);
}

static int create_tables(bl_store *store, bl_error *err)
{
    static const char doing[] = "creating the tables";
    int code = bl_store_begin_write(store, doing, err);
    if (code != BL_OK)
        return code;
    int64_t version = 0; /* another process may have been faster */
    code = bl_store_pragma(store, "PRAGMA user_version", &version, err);
    if (code == BL_OK && version == 0)
        code = bl_store_exec(store, bl_store_schema, doing, err);
    if (code == BL_OK && version == 0) {
        char *sql = sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", BL_STORE_APPLICATION_ID,
                                    BL_STORE_SCHEMA_VERSION);
        code = sql ? bl_store_exec(store, sql, doing, err) : BL_FAIL(err, BL_ERR_NOMEM, "no memory for %s", doing);
        sqlite3_free(sql);
    }
    return bl_store_finish_write(store, code, doing, err);
}

/* A reader cannot change the file, but a second connection may. */
static int upgrade_beside(const bl_store *store, bl_error *err)
{
    bl_store *writer = NULL;
    int code = bl_store_open(store->path, BL_STORE_WRITE, &writer, err);
    bl_store_close(writer);
    if (code != BL_OK)
        bl_error_context(err, "its older schema must be brought up to date first");
    return code;
}

static int check_header(bl_store *store, bl_store_mode mode, bl_error *err)
{
    int64_t application = 0, version = 0, tables = 0;
    int code = bl_store_pragma(store, "PRAGMA application_id", &application, err);
    if (code == BL_OK)
        code = bl_store_pragma(store, "PRAGMA user_version", &version, err);
    if (code == BL_OK)
        code = bl_store_pragma(store, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (code != BL_OK)
        return code;
    if (application == 0 && version == 0 && tables == 0) {
        if (mode == BL_STORE_CREATE)
            return create_tables(store, err);
        return BL_FAIL(err, BL_ERR_ENV, "database '%s' is empty: no experiment was ever stored there", store->path);
    }
    if (application != BL_STORE_APPLICATION_ID) {
        BL_FAIL(err, BL_ERR_ENV, "'%s' is another program's database", store->path);
        bl_error_remedy(err, "name another file with --db FILE");
        return BL_ERR_ENV;
    }
    if (version > BL_STORE_SCHEMA_VERSION) {
        BL_FAIL(err, BL_ERR_ENV, "database '%s' has schema version %lld; this batchlab (%s) knows them up to %d",
                store->path, (long long)version, BATCHLAB_VERSION, BL_STORE_SCHEMA_VERSION);
        bl_error_remedy(err, "use the newer batchlab that wrote it, or another file with --db FILE");
        return BL_ERR_ENV;
    }
    if (version == BL_STORE_SCHEMA_VERSION)
        return BL_OK;
    return mode == BL_STORE_READ ? upgrade_beside(store, err) : bl_store_upgrade(store, err);
}

static int set_up(bl_store *store, bl_store_mode mode, bl_error *err)
{
    sqlite3_busy_timeout(store->db, BUSY_MS);
    sqlite3_extended_result_codes(store->db, 1);
    int code = bl_store_exec(store, "PRAGMA foreign_keys = ON", "opening", err);
    /* WAL: readers look on while a sweep writes. FULL: what was said to be stored survives a power failure. */
    if (code == BL_OK && mode != BL_STORE_READ)
        code = bl_store_exec(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", "opening", err);
    return code == BL_OK ? check_header(store, mode, err) : code;
}

/* Without this a first trial would run for minutes before a read-only file is noticed. */
static int check_writable(bl_store *store, bl_error *err)
{
    static const char doing[] = "a trial write";
    int code = bl_store_begin_write(store, doing, err);
    if (code == BL_OK)
        code = bl_store_exec(store, "UPDATE experiment SET state = state WHERE id = 0", doing, err);
    return bl_store_finish_write(store, code, doing, err);
}

/* Readers of a database in WAL mode want to write beside it. Where nobody can, and no writer left a WAL behind, the
 * file does not change either, and is read as it is. */
static bool is_frozen(const char *path)
{
    bl_str wal, folder;
    bl_str_init(&wal);
    bl_str_init(&folder);
    bl_str_printf(&wal, "%s-wal", path);
    const char *slash = strrchr(path, '/');
    bl_str_append_n(&folder, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
    bool frozen = !wal.failed && !folder.failed && !bl_fs_exists(bl_str_text(&wal)) &&
                  access(bl_str_text(&folder), W_OK) != 0 && access(path, R_OK) == 0;
    bl_str_clear(&wal);
    bl_str_clear(&folder);
    return frozen;
}

static int open_frozen(const char *path, sqlite3 **db)
{
    bl_str uri;
    bl_str_init(&uri);
    bl_str_append(&uri, "file:");
    for (const char *c = path; *c; c++)
        if (strchr("%?#", *c))
            bl_str_printf(&uri, "%%%02x", (unsigned char)*c);
        else
            bl_str_append_c(&uri, *c);
    bl_str_append(&uri, "?immutable=1");
    int rc = uri.failed ? SQLITE_NOMEM
                        : sqlite3_open_v2(bl_str_text(&uri), db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    bl_str_clear(&uri);
    return rc;
}

int bl_store_open(const char *path, bl_store_mode mode, bl_store **out, bl_error *err)
{
    *out = NULL;
    if (mode != BL_STORE_CREATE && !bl_fs_exists(path)) {
        BL_FAIL(err, BL_ERR_ENV, "there is no database '%s'", path);
        bl_error_remedy(err, "batchlab sweep makes one; name another with --db FILE");
        return BL_ERR_ENV;
    }
    bl_store *store = bl_calloc(1, sizeof *store);
    if (!store || !(store->path = bl_strdup(path))) {
        free(store);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the database '%s'", path);
    }
    int flags = mode == BL_STORE_READ     ? SQLITE_OPEN_READONLY
                : mode == BL_STORE_CREATE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                          : SQLITE_OPEN_READWRITE;
    errno = 0;
    int rc = mode == BL_STORE_READ && is_frozen(path) ? open_frozen(path, &store->db)
                                                      : sqlite3_open_v2(path, &store->db, flags, NULL);
    int code = rc == SQLITE_OK ? set_up(store, mode, err) : bl_store_error(store, rc, "opening", err);
    if (code == BL_OK && mode != BL_STORE_READ)
        code = check_writable(store, err);
    if (code != BL_OK) {
        bl_store_close(store);
        return code;
    }
    *out = store;
    return BL_OK;
}

void bl_store_close(bl_store *store)
{
    if (!store)
        return;
    sqlite3_close(store->db);
    free(store->path);
    free(store);
}
