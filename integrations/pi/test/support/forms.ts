// A conversation of calls and results as each API that pi speaks is given it.

export interface Exchange {
  id: string;
  name?: string;
  arguments?: object;
  text: string;
}

type Form = (exchanges: readonly Exchange[]) => object;

const each = (make: (one: Required<Exchange>) => object[]) => (exchanges: readonly Exchange[]) =>
  exchanges.flatMap((one) => make({ name: "read", arguments: {}, ...one }));
const half = (id: string) => id.split("|")[0];

export const FORMS: Record<string, Form> = {
  "anthropic-messages": (all) => ({
    messages: each(({ id, name, arguments: input, text }) => [
      {
        role: "assistant",
        content: [
          { type: "text", text: "let me see" },
          { type: "tool_use", id, name, input },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text, is_error: false }] },
    ])(all),
  }),
  "openai-completions": (all) => ({
    messages: each(({ id, name, arguments: given, text }) => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(given) } }],
      },
      { role: "tool", tool_call_id: id, content: text },
    ])(all),
  }),
  "openai-completions, cached": (all) => ({
    messages: each(({ id, name, arguments: given, text }) => [
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(given) } }],
      },
      { role: "tool", tool_call_id: id, content: [{ type: "text", text, cache_control: { type: "ephemeral" } }] },
    ])(all),
  }),
  "openai-responses": (all) => ({
    input: each(({ id, name, arguments: given, text }) => [
      { type: "function_call", call_id: half(id), name, arguments: JSON.stringify(given) },
      { type: "function_call_output", call_id: half(id), output: text },
    ])(all),
  }),
  "mistral-conversations": (all) => ({
    messages: each(({ id, name, arguments: given, text }) => [
      {
        role: "assistant",
        toolCalls: [{ id, type: "function", function: { name, arguments: JSON.stringify(given) } }],
      },
      { role: "tool", toolCallId: id, name, content: [{ type: "text", text: text.trim() }] },
    ])(all),
  }),
  "google-generative-ai": (all) => ({
    contents: each(({ id, name, arguments: args, text }) => [
      { role: "model", parts: [{ functionCall: { name, args, id } }] },
      { role: "user", parts: [{ functionResponse: { name, response: { output: text }, id } }] },
    ])(all),
  }),
  "google without ids": (all) => ({
    contents: each(({ name, arguments: args, text }) => [
      { role: "model", parts: [{ functionCall: { name, args } }] },
      { role: "user", parts: [{ functionResponse: { name, response: { output: text } } }] },
    ])(all),
  }),
  "bedrock-converse-stream": (all) => ({
    messages: each(({ id, name, arguments: input, text }) => [
      { role: "assistant", content: [{ toolUse: { toolUseId: id, name, input } }] },
      { role: "user", content: [{ toolResult: { toolUseId: id, content: [{ text }], status: "success" } }] },
    ])(all),
  }),
  "pi-messages": (all) => ({ context: { messages: asMessages(all) } }),
};

/** As pi itself has it. */
export const asMessages: (exchanges: readonly Exchange[]) => object[] = each(({ id, name, arguments: given, text }) => [
  { role: "assistant", content: [{ type: "toolCall", id, name, arguments: given }] },
  { role: "toolResult", toolCallId: id, toolName: name, content: [{ type: "text", text }], isError: false },
]);
