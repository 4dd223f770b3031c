/* main of a fuzz target without a fuzzer: runs each file named on the command line through it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    int ran = 0;
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (f == NULL) {
            perror(argv[i]);
            return 1;
        }
        size_t cap = 1 << 20, n;
        uint8_t *data = malloc(cap);
        if (data == NULL)
            return 1;
        n = fread(data, 1, cap, f);
        fclose(f);
        LLVMFuzzerTestOneInput(data, n);
        free(data);
        ran++;
    }
    printf("%d inputs replayed\n", ran);
    return ran == 0;
}
