#pragma once
// Templates for the tests of chats, in the style of those that models come with.

#include <cstdlib>
#include <string>

namespace partita {

inline bool has_jinja() { return std::system("python3 -c 'import jinja2' 2>/dev/null") == 0; }

/// Headers around roles, and a token at the end of each message.
inline const std::string kLlamaTemplate = R"({{- bos_token }}
{%- for turn in messages %}
    {{- '<|start_header_id|>' ~ turn.role ~ '<|end_header_id|>\n\n' }}
    {{- turn['content'] | trim ~ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)";

/// A system's message of its own, and tools as JSON.
inline const std::string kQwenTemplate = R"({%- if messages[0].role == 'system' %}
    {%- set first, rest = messages[0].content, messages[1:] %}
{%- else %}
    {%- set first, rest = 'Be of help.', messages %}
{%- endif %}
<|im_start|>system
{{ first }}
{%- if tools %}

# Tools
    {%- for tool in tools %}
        {{- '\n' ~ (tool | tojson) }}
    {%- endfor %}
{%- endif %}
<|im_end|>
{% for message in rest %}
    {%- if message.role == 'stop' %}{% break %}{% endif %}
<|im_start|>{{ message.role }}
{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}

{% endfor %}
{%- if add_generation_prompt %}
<|im_start|>assistant
{% endif %}
)";

/// Roles by turns, which the template requires.
inline const std::string kMistralTemplate = R"({{ bos_token }}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate, got ' + message['role']) }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- '[INST] ' + message['content'] + ' [/INST]' }}
    {%- else %}
        {{- ' ' + message['content'] + eos_token }}
    {%- endif %}
{%- endfor %}
)";

}  // namespace partita
