/* A plugin of qemu (TCG, API version 1) that counts the instructions which a machine executes between two functions:
 *   -plugin counter.so,start=ADDRESS,stop=ADDRESS,out=FILE
 * FILE gets a line "total N" for every time that `stop` was entered after `start`, and behind them, of the last time,
 * a line "ADDRESS N" for every instruction that was executed, N times. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of qemu-plugin.h, which distributions leave out, what is used here. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, enum qemu_plugin_op, void *, uint64_t);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *),
                                                   enum qemu_plugin_cb_flags, void *);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* A block of instructions that run one behind the other, as often as its first. */
typedef struct block {
    uint64_t runs, kept;
    size_t count;
    uint64_t *addresses;
    struct block *next;
} block;
static block *blocks;
static uint64_t executed, begun, start_address, stop_address;
static int counting;
static FILE *out;

static void on_start(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    for (block *b = blocks; b; b = b->next) b->runs = 0;
    begun = executed;
    counting = 1;
}
static void on_stop(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    if (!counting) return;
    counting = 0;
    fprintf(out, "total %" PRIu64 "\n", executed - begun);
    for (block *b = blocks; b; b = b->next) b->kept = b->runs;
}
static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    block *b = calloc(1, sizeof *b);
    b->count = qemu_plugin_tb_n_insns(tb);
    b->addresses = calloc(b->count, sizeof *b->addresses);
    for (size_t i = 0; i < b->count; ++i) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        b->addresses[i] = qemu_plugin_insn_vaddr(insn);
        void (*call)(unsigned, void *) = b->addresses[i] == start_address  ? on_start
                                         : b->addresses[i] == stop_address ? on_stop
                                                                           : NULL;
        if (call) qemu_plugin_register_vcpu_insn_exec_cb(insn, call, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
    b->next = blocks;
    blocks = b;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &b->runs, 1);
    qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &executed, b->count);
}
static void on_exit_of_machine(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    for (block *b = blocks; b; b = b->next)
        for (size_t i = 0; b->kept && i < b->count; ++i)
            fprintf(out, "%" PRIx64 " %" PRIu64 "\n", b->addresses[i], b->kept);
    fclose(out);
}
__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
                                                               char **argv)
{
    (void)info;
    for (int i = 0; i < argc; ++i) {
        if (!strncmp(argv[i], "start=", 6)) start_address = strtoull(argv[i] + 6, NULL, 0);
        else if (!strncmp(argv[i], "stop=", 5)) stop_address = strtoull(argv[i] + 5, NULL, 0);
        else if (!strncmp(argv[i], "out=", 4)) out = fopen(argv[i] + 4, "w");
        else return 1;
    }
    if (!out) return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_exit_of_machine, NULL);
    return 0;
}
