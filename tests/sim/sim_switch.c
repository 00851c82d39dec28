/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_switch.h"

#include <stdint.h>
#include <string.h>

#include "common/check.h"

#ifdef __x86_64__

void sim_switch_stacks(void **from, void *to);

/* The registers that a function must preserve (System V ABI) go to the old stack and come from the new one. */
__asm__(".text\n"
        ".type sim_switch_stacks, @function\n"
        ".globl sim_switch_stacks\n"
        "sim_switch_stacks:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size sim_switch_stacks, . - sim_switch_stacks\n");

void sim_context_make(struct sim_context *context, void *stack, size_t bytes, void (*run)(void))
{
    enum { REGISTERS = 6 };
    uint64_t *top = (uint64_t *)(void *)((uint8_t *)stack + bytes);
    *--top = 0; /* run sees the stack as after a call: 8 bytes off a multiple of 16 */
    *--top = (uint64_t)(uintptr_t)run;
    top -= REGISTERS;
    memset(top, 0, REGISTERS * sizeof *top);
    context->stack_pointer = top;
}

void sim_context_switch(struct sim_context *from, struct sim_context *to)
{
    sim_switch_stacks(&from->stack_pointer, to->stack_pointer);
}

#else

void sim_context_make(struct sim_context *context, void *stack, size_t bytes, void (*run)(void))
{
    CHECK(getcontext(&context->context) == 0);
    context->context.uc_stack.ss_sp = stack;
    context->context.uc_stack.ss_size = bytes;
    context->context.uc_link = NULL;
    makecontext(&context->context, run, 0);
}

void sim_context_switch(struct sim_context *from, struct sim_context *to)
{
    CHECK(swapcontext(&from->context, &to->context) == 0);
}

#endif
