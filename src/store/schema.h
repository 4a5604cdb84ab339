/* The tables, as docs/database-schema.md explains them. Of use inside this room. */
#ifndef BL_STORE_SCHEMA_H
#define BL_STORE_SCHEMA_H

/* "BLab": told apart from other programs' files by the header's application id. */
#define BL_STORE_APPLICATION_ID 0x424C6162

extern const char bl_store_schema[];
/* Added to a database with its first comparison: no other table changes for them. */
extern const char bl_store_comparison_tables[];
/* The same with the first trial that measured its gradient's noise. */
extern const char bl_store_noise_table[];
/* And with the first trial that told a metric. */
extern const char bl_store_point_table[];
/* And with the first trial that has telemetry. */
extern const char bl_store_telemetry_tables[];
/* And with the first trial that ran on another machine than the lab's. */
extern const char bl_store_placement_table[];

#endif
